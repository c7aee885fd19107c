//! Transactions on a real PostgreSQL: what is set for them, and how they end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_postgres::types::Type;

use super::cluster::{Cluster, PASSWORD, Pooler, USER};
use crate::error::{Error, ErrorKind};
use crate::postgres::{Server, Transaction};

fn server(url: &str) -> Arc<Server> {
    Server::new(url).expect("a database")
}

async fn text(transaction: &Transaction, sql: &str) -> String {
    let row = transaction
        .row(sql, &[])
        .await
        .expect("an answer")
        .expect("a row");
    row.try_get(0).expect("text")
}

async fn refused(server: &Arc<Server>, sql: &str) -> Error {
    let transaction = server.read().await.expect("a transaction");
    let answer = transaction.rows(sql, &[]).await.map(|rows| rows.len());
    drop(transaction);
    // Its connection is given back beside us.
    tokio::time::sleep(Duration::from_millis(300)).await;
    answer.expect_err(sql)
}

/// Statements of ours that the server is at.
fn at_work(cluster: &Cluster) -> String {
    cluster.sql(
        "postgres",
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep%' \
         AND pid <> pg_backend_pid()",
    )
}

async fn until_idle(cluster: &Cluster) {
    let begun = Instant::now();
    while at_work(cluster) != "0" {
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "the server goes on"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// A statement that takes long is dropped once the server is at it.
async fn dropped(cluster: &Cluster, server: &Arc<Server>) {
    let transaction = server.read().await.expect("a transaction");
    let sleeping = tokio::spawn(async move {
        let _ = transaction
            .rows("SELECT pg_catalog.pg_sleep(60)::text", &[])
            .await;
    });
    let begun = Instant::now();
    while at_work(cluster) == "0" {
        assert!(begun.elapsed() < Duration::from_secs(10), "it never began");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    sleeping.abort();
    until_idle(cluster).await;
    server.ping().await.expect("the next one is unharmed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_may_take_what_its_transaction_allows() {
    let cluster = Cluster::start(&[]);
    let server = server(&cluster.url("postgres"));
    let mut transaction = server.write().await.expect("a transaction");
    let allowed = transaction.allow(Duration::from_secs(600)).await;
    allowed.expect("allowed");
    for setting in ["SHOW statement_timeout", "SHOW lock_timeout"] {
        assert_eq!(text(&transaction, setting).await, "10min");
    }
    let allowed = transaction.allow(Duration::from_secs(1)).await;
    allowed.expect("allowed");
    let slept = transaction.rows("SELECT pg_sleep(30)::text", &[]).await;
    let error = slept.expect_err("given up");
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(error.message().contains("within 1 s"), "{error}");
    drop(transaction);
    server.settled().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_dropped_ends_at_the_server() {
    let cluster = Cluster::start(&[]);
    dropped(&cluster, &server(&cluster.url("postgres"))).await;
    let Some(pooler) = Pooler::to(&cluster) else {
        eprintln!("skipped: there is no pgbouncer; it is in the system's package of that name");
        return;
    };
    let pooled = server(&format!(
        "postgresql://{USER}:{PASSWORD}@127.0.0.1:{}/postgres",
        pooler.port()
    ));
    dropped(&cluster, &pooled).await;
    for _ in 0..5 {
        let transaction = pooled.snapshot().await.expect("a transaction");
        let sql = "SELECT $1 || current_setting('transaction_isolation')";
        let row = transaction
            .row(sql, &[(&"is ", Type::TEXT)])
            .await
            .expect("an answer");
        let said: Option<String> = row.and_then(|row| row.try_get(0).ok());
        assert_eq!(said.as_deref(), Some("is repeatable read"));
        transaction.end().await.expect("ended");
    }
    // Nothing stays behind in the pooler's sessions.
    let left = cluster.sql("postgres", "SELECT count(*) FROM pg_prepared_statements");
    assert_eq!(left, "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_calls_nothing_of_others_and_says_what_failed() {
    let mut cluster = Cluster::start(&[]);
    let url = cluster.create("agno");
    cluster.sql(
        "agno",
        "CREATE FUNCTION public.upper(text) RETURNS text LANGUAGE sql AS $$ SELECT 'HOSTILE' $$;
         CREATE FUNCTION public.never(text, text) RETURNS bool LANGUAGE sql AS $$ SELECT false $$;
         CREATE OPERATOR public.= (LEFTARG = text, RIGHTARG = text, FUNCTION = public.never);
         ALTER ROLE afterrun SET search_path = public, pg_catalog;
         CREATE SCHEMA ai; CREATE TABLE ai.agno_runs (run_id text);
         CREATE ROLE reader LOGIN PASSWORD 'hunter7'; GRANT USAGE ON SCHEMA ai TO reader;",
    );
    let server = server(&url);
    let transaction = server.read().await.expect("a transaction");
    assert_eq!(text(&transaction, "SELECT upper('a'::text)").await, "A");
    assert_eq!(
        text(&transaction, "SELECT ('a'::text = 'a'::text)::text").await,
        "true"
    );
    assert_eq!(text(&transaction, "SHOW statement_timeout").await, "30s");
    assert_eq!(text(&transaction, "SHOW lock_timeout").await, "5s");
    assert_eq!(
        text(&transaction, "SHOW application_name").await,
        "afterrun"
    );
    assert_eq!(
        text(&transaction, "SHOW search_path").await,
        "pg_catalog, pg_temp"
    );
    let backend = text(&transaction, "SELECT pg_backend_pid()::text").await;
    transaction.end().await.expect("ended");

    for (sql, words) in [
        (
            "SELECT 1 FROM ai.agno_run",
            "relation \"ai.agno_run\" does not exist",
        ),
        (
            "SELECT run_ids FROM ai.agno_runs",
            "column \"run_ids\" does not exist",
        ),
        (
            "SELECT 1 FROM nowhere.x",
            "relation \"nowhere.x\" does not exist",
        ),
        (
            "CREATE TABLE ai.x (a int)",
            "cannot execute CREATE TABLE in a read-only transaction",
        ),
    ] {
        let error = refused(&server, sql).await;
        assert!(
            error.message().contains(words) && error.next_step().is_some(),
            "{error:?}"
        );
        assert!(
            error.kind() == ErrorKind::Database && !error.is_lost(),
            "{error:?}"
        );
    }
    let transaction = server.read().await.expect("a transaction");
    // What failed by itself has cost no connection.
    assert_eq!(
        text(&transaction, "SELECT pg_backend_pid()::text").await,
        backend
    );
    transaction
        .rows("SET LOCAL statement_timeout = 200", &[])
        .await
        .expect("set");
    let error = transaction
        .rows("SELECT pg_catalog.pg_sleep(20)::text", &[])
        .await
        .map(|_| ())
        .expect_err("late");
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    drop(transaction);

    let as_reader = url.replace(&format!("{USER}:{PASSWORD}"), "reader:hunter7");
    let error = refused(
        &Server::new(&as_reader).expect("named"),
        "SELECT 1 FROM \"ai\".\"agno_runs\"",
    )
    .await;
    assert!(
        error
            .message()
            .ends_with("permission denied for table agno_runs"),
        "{error}"
    );
    assert_eq!(
        error.next_step(),
        Some("the user needs: GRANT SELECT ON ai.agno_runs TO reader")
    );

    let holder = server.write().await.expect("a transaction");
    holder
        .execute("LOCK TABLE ai.agno_runs", &[])
        .await
        .expect("locked");
    let waiting = server.read().await.expect("a transaction");
    waiting
        .rows("SET LOCAL lock_timeout = 200", &[])
        .await
        .expect("set");
    let error = waiting
        .rows("SELECT 1 FROM ai.agno_runs", &[])
        .await
        .map(|_| ())
        .expect_err("locked");
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    drop((holder, waiting));

    let error = refused(&server, "SELECT repeat('x', 100000000)").await;
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    let error = refused(
        &server,
        "SELECT repeat('x', 10000000) FROM generate_series(1, 40)",
    )
    .await;
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");

    // Ended by an administrator, and by a crash.
    for crash in [false, true] {
        let transaction = server.read().await.expect("a transaction");
        let pid = text(&transaction, "SELECT pg_backend_pid()::text").await;
        let reading = tokio::spawn(async move {
            transaction
                .rows("SELECT pg_catalog.pg_sleep(20)::text", &[])
                .await
                .map(|_| ())
        });
        tokio::time::sleep(Duration::from_millis(300)).await;
        if crash {
            cluster.kill();
        } else {
            cluster.sql("agno", &format!("SELECT pg_terminate_backend({pid})"));
        }
        let error = reading.await.expect("no panic").expect_err("ended");
        assert!(
            error.is_lost() && error.message().contains("the connection is lost"),
            "{error}"
        );
        assert_eq!(error.kind(), ErrorKind::Database);
    }
    assert!(server.read().await.map(drop).expect_err("gone").is_lost());
    cluster.resume();
    server.ping().await.expect("back");
}
