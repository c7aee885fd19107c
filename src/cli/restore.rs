//! `restore` and `fetch`: what leaves the store.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::args::{FetchArgs, RestoreArgs};
use super::context::Context;
use super::output::{base64, put_ambiguities, put_bytes};
use super::target::{self, Target};
use crate::archive::{RestoreOptions, RestoreReport};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::text::{grouped, human_bytes, visible_bytes, visible_path};

/// `afterrun restore`.
pub(super) async fn restore(context: &Context, args: &RestoreArgs) -> Result<()> {
    let watch = context.watch();
    let Some((destination, words)) = args.words.split_last() else {
        return fail(ErrorKind::Usage, "No destination is named");
    };
    if args.archive.archive.is_none() && words.is_empty() {
        return Err(
            Error::new(ErrorKind::Usage, "A restore needs a RUN and a destination")
                .hint("afterrun restore RUN DEST"),
        );
    }
    if args.archive.archive.is_some() && !words.is_empty() {
        return fail(
            ErrorKind::Usage,
            "With --archive, only a destination is named",
        );
    }
    let destination = Path::new(destination);
    let (target, _) = Target::open(context, &args.archive, words, &watch).await?;
    let only: Result<Vec<Vec<u8>>> = args
        .only
        .iter()
        .map(|path| only_path(&target, path))
        .collect();
    let options = RestoreOptions {
        absolute_links: args.absolute_links,
        only: only?,
    };
    let report = if args.dry_run {
        target.archive.plan_restore(destination, &options)?.report()
    } else {
        target
            .archive
            .restore(destination, &options, &watch)
            .await?
    };
    let output = context.output();
    output.ambiguities(target.archive.ambiguities());
    if output.json {
        return output.document(&report_json(&target, &report, args.dry_run));
    }
    let (would, verb) = if args.dry_run {
        ("would be ", "write")
    } else {
        ("", "restored to")
    };
    output.line(&format!(
        "{} {}: {} entries, {}",
        if args.dry_run {
            "would restore to"
        } else {
            verb
        },
        visible_path(&report.destination),
        grouped(report.entries),
        human_bytes(report.bytes)
    ))?;
    for link in &report.skipped_links {
        output.line(&format!(
            "  {would}left out: {} (a link to an absolute path)",
            visible_bytes(link)
        ))?;
    }
    Ok(())
}

fn only_path(target: &Target, path: &OsString) -> Result<Vec<u8>> {
    match target.entry(path) {
        Ok(entry) => Ok(entry.path.clone()),
        // The plan names what it does not hold, in its own words.
        Err(_) => Ok(path.as_bytes().to_vec()),
    }
}

fn report_json(target: &Target, report: &RestoreReport, dry_run: bool) -> Value {
    let mut object = Map::new();
    object.insert("run_id".into(), json!(target.run_id()));
    put_bytes(
        &mut object,
        "destination",
        report.destination.as_os_str().as_bytes(),
    );
    object.insert("entries".into(), report.entries.into());
    object.insert("bytes".into(), report.bytes.into());
    let lossy = |link: &Vec<u8>| String::from_utf8_lossy(link).into_owned();
    let links: Vec<String> = report.skipped_links.iter().map(lossy).collect();
    object.insert("skipped_links".into(), json!(links));
    if report
        .skipped_links
        .iter()
        .any(|link| std::str::from_utf8(link).is_err())
    {
        // The same list whole, where a name is no text.
        let whole: Vec<String> = report
            .skipped_links
            .iter()
            .map(|link| base64(link))
            .collect();
        object.insert("skipped_links_b64".into(), json!(whole));
    }
    object.insert("state".into(), report.state.to_serde());
    put_ambiguities(&mut object, target.archive.ambiguities());
    if dry_run {
        object.insert("dry_run".into(), true.into());
    }
    Value::Object(object)
}

/// `afterrun fetch`.
pub(super) async fn fetch(context: &Context, args: &FetchArgs) -> Result<()> {
    let watch = context.watch();
    let shown = visible_path(&args.file);
    if std::fs::symlink_metadata(&args.file).is_ok() {
        return Err(
            Error::new(ErrorKind::Exists, format!("{shown} already exists"))
                .hint("name a file that does not exist"),
        );
    }
    let runs = context.runs().await?;
    let id = target::run_id(&runs, &args.run, &watch).await?;
    let reference = runs
        .fetch_checkpoint(&id, &context.opening(), &args.file, &watch)
        .await?;
    let output = context.output();
    if output.json {
        let mut object = Map::new();
        object.insert("run_id".into(), id.into());
        put_bytes(&mut object, "file", args.file.as_os_str().as_bytes());
        object.insert("checkpoint".into(), json!(reference));
        return output.document(&Value::Object(object));
    }
    output.line(&format!(
        "{shown}: {} B, sha256 {}",
        grouped(reference.size()),
        reference.sha256()
    ))
}
