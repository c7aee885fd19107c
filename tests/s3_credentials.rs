//! Every place where boto3 finds credentials, by files and stand-ins of the services; whether they
//! are the right ones is told by a bucket that checks signatures.

mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use afterrun::checkpoint::{CheckpointRef, CheckpointStore, S3CheckpointStore, S3Settings};
use afterrun::progress::Watch;
use afterrun::{Error, ErrorKind};
use common::answers::Answers;
use common::s3::{BUCKET, KEY, SECRET, Server, environment};
use common::sha256;
use tempfile::TempDir;

/// A home directory, and a bucket with one object.
struct Place {
    home: TempDir,
    server: Server,
}

impl Place {
    fn new() -> Self {
        let server = Server::start();
        let digest = sha256(b"stored");
        server.plant(
            &format!("{digest}.tar.gz"),
            b"stored",
            &[("sha256", &digest)],
        );
        let home = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(home.path().join(".aws/sso/cache")).expect("made");
        Self { home, server }
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.home.path().join(name), text).expect("written");
    }

    fn path(&self, name: &str) -> String {
        let path = self.home.path().join(name);
        path.to_str().expect("UTF-8").to_owned()
    }

    fn store(&self, query: &str, variables: &[(&str, &str)]) -> Result<S3CheckpointStore, Error> {
        let url = format!(
            "s3://{BUCKET}/?endpoint_url={}{query}",
            self.server.endpoint()
        );
        let variables = [&[("AWS_EC2_METADATA_DISABLED", "true")], variables].concat();
        let settings = S3Settings::from_url(&url).expect("a URL");
        S3CheckpointStore::open(settings, &environment(&variables, Some(self.home.path())))
    }

    /// Asks the bucket with what is found, and nothing that is said holds a secret.
    async fn ask(&self, query: &str, variables: &[(&str, &str)]) -> Result<(), Error> {
        let store = self.store(query, variables)?;
        assert!(!format!("{store:?}").contains("hunter2"), "{store:?}");
        let reference = CheckpointRef::new(sha256(b"stored"), 6).expect("a reference");
        let answer = store.verify(&reference, &Watch::default()).await;
        if let Err(error) = &answer {
            let said = format!("{error:?} {error} {:?}", error.next_step());
            assert!(!said.contains("hunter2"), "{said}");
        }
        answer
    }

    async fn line(&self, query: &str, variables: &[(&str, &str)]) -> String {
        match self.ask(query, variables).await {
            Ok(()) => panic!("it worked"),
            Err(error) => error.to_string(),
        }
    }
}

fn keys() -> String {
    format!("aws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n")
}

/// What STS answers.
fn given(what: &str) -> String {
    format!(
        "<{what}Response><{what}Result><Credentials><AccessKeyId>{KEY}</AccessKeyId>\
         <SecretAccessKey>{SECRET}</SecretAccessKey><SessionToken>token</SessionToken>\
         <Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></{what}Result></{what}Response>"
    )
}

/// What containers, instances and processes answer.
fn document(more: &str) -> String {
    format!(
        "{{\"Code\":\"Success\",\"AccessKeyId\":\"{KEY}\",\"SecretAccessKey\":\"{SECRET}\",\
         \"Token\":\"token\",\"Expiration\":\"2099-01-01T00:00:00Z\"{more}}}"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn variables_come_first_unless_a_profile_is_named() {
    let place = Place::new();
    let wrong = "aws_access_key_id=AKIAOTHER\naws_secret_access_key=hunter2-other\n";
    place.write(
        ".aws/credentials",
        &format!("[default]\n{wrong}[mine]\n{}", keys()),
    );
    let set = [
        ("AWS_ACCESS_KEY_ID", KEY),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
    ];
    place.ask("", &set).await.expect("from variables");
    let other = [
        ("AWS_ACCESS_KEY_ID", "AKIAOTHER"),
        ("AWS_SECRET_ACCESS_KEY", "hunter2-x"),
    ];
    place
        .ask("&profile=mine", &other)
        .await
        .expect("from the profile");
    place
        .ask("", &[("AWS_PROFILE", "mine")])
        .await
        .expect("from the profile");
    assert_eq!(
        place.line("", &[]).await,
        "The bucket does not know the access key"
    );
    let half = [("AWS_ACCESS_KEY_ID", KEY)];
    let line = place.line("", &half).await;
    assert_eq!(
        line,
        "AWS_ACCESS_KEY_ID is set and AWS_SECRET_ACCESS_KEY is not"
    );
    let line = place.line("", &[("AWS_PROFILE", "nobody")]).await;
    assert!(
        line.starts_with("The AWS profile nobody is not in "),
        "{line}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_where_variables_say_and_hold_keys_or_a_command() {
    let place = Place::new();
    place.write(
        "config",
        &format!("[profile a b]\n[profile \"a b\"]\n{}", keys()),
    );
    let config = place.path("config");
    let variables = [("AWS_CONFIG_FILE", config.as_str()), ("AWS_PROFILE", "a b")];
    place
        .ask("", &variables)
        .await
        .expect("from the configuration file");
    place.write("credentials", &format!("[shared]\n{}", keys()));
    let shared = place.path("credentials");
    let variables = [
        ("AWS_SHARED_CREDENTIALS_FILE", shared.as_str()),
        ("AWS_PROFILE", "shared"),
    ];
    place
        .ask("", &variables)
        .await
        .expect("from the credentials file");

    place.write("printed", &document(",\"Version\":1"));
    let process = format!(
        "[default]\ncredential_process = cat \"{}\"\n",
        place.path("printed")
    );
    place.write(".aws/config", &process);
    place.ask("", &[]).await.expect("from a process");
    for (command, told) in [
        ("false", "its credential_process ended with 1"),
        (
            "echo hunter2",
            "its credential_process prints no credentials",
        ),
        (
            "/nowhere/at/all",
            "its credential_process cannot be run: no such file or directory",
        ),
    ] {
        place.write(
            ".aws/config",
            &format!("[default]\ncredential_process = {command}\n"),
        );
        assert_eq!(
            place.line("", &[]).await,
            format!("The AWS profile default: {told}")
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_is_taken_on_with_the_credentials_of_its_source() {
    let place = Place::new();
    let sts = Answers::start(|_| (200, given("AssumeRole")));
    let url = sts.url();
    let role = "arn:aws:iam::123456789012:role/reader";
    let config = format!(
        "[profile reader]\nrole_arn = {role}\nsource_profile = base\nexternal_id = ours\n\
         [profile base]\naws_access_key_id = AKIABASETEST00000001\naws_secret_access_key = hunter2-base\n\
         [profile chained]\nrole_arn = {role}\nsource_profile = reader\n\
         [profile variables]\nrole_arn = {role}\ncredential_source = Environment\n\
         [profile round]\nrole_arn = {role}\nsource_profile = about\n\
         [profile about]\nrole_arn = {role}\nsource_profile = round\n\
         [profile mfa]\nrole_arn = {role}\nsource_profile = base\nmfa_serial = arn:aws:iam::1:mfa/x\n"
    );
    place.write(".aws/config", &config);
    let at = [("AWS_ENDPOINT_URL_STS", url.as_str())];
    place.ask("&profile=reader", &at).await.expect("a role");
    let asked = sts.asked().concat();
    for part in [
        "RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Freader",
        "ExternalId=ours",
        "AKIABASETEST00000001",
        "RoleSessionName=afterrun",
    ] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
    place
        .ask("&profile=chained", &at)
        .await
        .expect("a role of a role");
    assert_eq!(sts.asked().len(), 3);
    let set = [
        at[0],
        ("AWS_ACCESS_KEY_ID", "AKIASETTEST000000001"),
        ("AWS_SECRET_ACCESS_KEY", "hunter2-set"),
    ];
    place
        .ask("&profile=variables", &set)
        .await
        .expect("a role by variables");
    let line = place.line("&profile=round", &at).await;
    assert_eq!(
        line,
        "The AWS profile about: its source_profile leads back to itself"
    );
    let line = place.line("&profile=mfa", &at).await;
    assert_eq!(line, "The AWS profile mfa: its role asks for an MFA code");

    let denied = "<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>";
    let sts = Answers::start(|_| (403, denied.to_owned()));
    let url = sts.url();
    let line = place
        .line("&profile=reader", &[("AWS_ENDPOINT_URL_STS", &url)])
        .await;
    assert_eq!(
        line,
        "The AWS profile reader: its role is not given: AccessDenied: no"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_web_identity_and_sso_give_credentials() {
    let place = Place::new();
    let sts = Answers::start(|_| (200, given("AssumeRoleWithWebIdentity")));
    place.write("token", "web-token\n");
    let (url, token) = (sts.url(), place.path("token"));
    let variables = [
        ("AWS_ENDPOINT_URL_STS", url.as_str()),
        ("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/pod"),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", token.as_str()),
    ];
    place.ask("", &variables).await.expect("a web identity");
    assert!(sts.asked()[0].contains("WebIdentityToken=web-token"));

    let sso = Answers::start(|_| {
        let body = format!(
            "{{\"roleCredentials\":{{\"accessKeyId\":\"{KEY}\",\"secretAccessKey\":\"{SECRET}\",\
             \"sessionToken\":\"token\",\"expiration\":4070908800000}}}}"
        );
        (200, body)
    });
    let start = "https://x.awsapps.com/start";
    let config = format!(
        "[profile legacy]\nsso_start_url = {start}\nsso_region = eu-west-1\nsso_account_id = 1\nsso_role_name = R\n\
         [profile new]\nsso_session = ours\nsso_account_id = 1\nsso_role_name = R\n\
         [sso-session ours]\nsso_start_url = {start}\nsso_region = eu-west-1\n"
    );
    place.write(".aws/config", &config);
    let url = sso.url();
    let at = [("AWS_ENDPOINT_URL_SSO", url.as_str())];
    let error = place
        .ask("&profile=new", &at)
        .await
        .expect_err("not signed in");
    assert_eq!(
        error.next_step(),
        Some("sign in with `aws sso login --profile new`")
    );
    // The SHA-1 of the start URL, and of the session's name.
    for name in [
        "3947de8b16688092197fa616c34e01335f21d256",
        "48537f613ab85111413f2369616ae97481429bd1",
    ] {
        let cached = "{\"accessToken\":\"hunter2-sso\",\"expiresAt\":\"2099-01-01T00:00:00Z\"}";
        place.write(&format!(".aws/sso/cache/{name}.json"), cached);
    }
    place.ask("&profile=legacy", &at).await.expect("SSO");
    place
        .ask("&profile=new", &at)
        .await
        .expect("SSO by a session");
    assert!(sso.asked()[1].contains("x-amz-sso_bearer_token: hunter2-sso"));
}

#[tokio::test(flavor = "multi_thread")]
async fn containers_and_instances_have_roles() {
    let place = Place::new();
    let container =
        Answers::start(
            |request| match request.contains("uthorization: hunter2-task") {
                true => (200, document("")),
                false => (403, "hunter2".into()),
            },
        );
    place.write("task", "hunter2-task\n");
    let (url, token) = (format!("{}/role", container.url()), place.path("task"));
    let variables = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", url.as_str()),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", token.as_str()),
    ];
    place.ask("", &variables).await.expect("a container's");
    let far = [("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://example.com/")];
    let line = place.line("", &far).await;
    assert_eq!(
        line,
        "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor of this machine"
    );

    let instance = Answers::start(|request| {
        let line = request.lines().next().unwrap_or_default();
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["PUT", "/latest/api/token", _] => (200, "imds".into()),
            _ if !request.contains("x-aws-ec2-metadata-token: imds") => (401, String::new()),
            [_, "/latest/meta-data/iam/security-credentials/", _] => (200, "role".into()),
            _ => (200, document("")),
        }
    });
    let url = instance.url();
    let on = [
        ("AWS_EC2_METADATA_DISABLED", "false"),
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT", url.as_str()),
    ];
    place.ask("", &on).await.expect("an instance's");
    assert_eq!(instance.asked().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_there_are_none_one_line_says_what_was_tried_and_soon() {
    let place = Place::new();
    let line = place.line("", &[]).await;
    assert_eq!(
        line,
        "No AWS credentials were found: AWS_ACCESS_KEY_ID is not set, the profile default has none, \
         there is no web identity and no container's role, and AWS_EC2_METADATA_DISABLED is set"
    );
    // Somebody listens and says nothing, as behind some firewalls.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", silent.local_addr().expect("an address"));
    let begun = Instant::now();
    let on = [
        ("AWS_EC2_METADATA_DISABLED", "false"),
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT", url.as_str()),
    ];
    let error = place.ask("", &on).await.expect_err("none");
    assert_eq!(error.kind(), ErrorKind::Store);
    assert!(
        error
            .to_string()
            .contains("the instance's metadata give none"),
        "{error}"
    );
    assert!(
        begun.elapsed() < Duration::from_secs(8),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn region_and_endpoint_come_from_the_nearest_place() {
    let place = Place::new();
    place.write(
        ".aws/config",
        "[default]\nregion = eu-north-1\nendpoint_url = http://profile:1\n",
    );
    let shown = |query: &str, variables: &[(&str, &str)]| {
        let settings = S3Settings::from_url(&format!("s3://bucket?{query}")).expect("a URL");
        let around = environment(variables, Some(place.home.path()));
        let shown = S3CheckpointStore::open(settings, &around).map(|store| format!("{store:?}"));
        shown.unwrap_or_else(|error| error.to_string())
    };
    let has = |shown: String, parts: [&str; 2]| {
        for part in parts {
            assert!(shown.contains(&format!("\"{part}\"")), "{part}: {shown}");
        }
    };
    has(shown("", &[]), ["eu-north-1", "profile"]);
    let one = [
        ("AWS_DEFAULT_REGION", "sa-east-1"),
        ("AWS_ENDPOINT_URL", "http://all:1"),
    ];
    has(shown("", &one), ["sa-east-1", "all"]);
    let two = [
        &one[..],
        &[
            ("AWS_REGION", "me-south-1"),
            ("AWS_ENDPOINT_URL_S3", "http://s3:1"),
        ],
    ]
    .concat();
    // boto3's own variable wins over the one that other tools read.
    has(shown("", &two), ["sa-east-1", "s3"]);
    let other = [("AWS_REGION", "me-south-1")];
    has(shown("", &other), ["me-south-1", "profile"]);
    has(
        shown("region=x-1&endpoint_url=http://url:1", &two),
        ["x-1", "url"],
    );
    let ignored = [("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")];
    has(
        shown("", &ignored),
        ["eu-north-1", "bucket.s3.eu-north-1.amazonaws.com"],
    );
    let refused = shown("endpoint_url=http://key:hunter2@host", &[]);
    assert_eq!(refused, "The endpoint's URL carries no credentials");
}

/// What the binary prints, at its most talkative, with a bucket.
#[test]
fn the_command_line_reads_and_stores_and_shows_no_secret() {
    let place = common::Place::new();
    let server = Server::start();
    let url = server.url("team a");
    let run = |args: &[&str], secret: &str| {
        let mut command = place.afterrun(args);
        command
            .envs(Server::variables())
            .env("AWS_SECRET_ACCESS_KEY", secret);
        let ran = place.finish(command);
        let all = format!("{}{}", String::from_utf8_lossy(&ran.out), ran.err);
        assert!(!all.contains("hunter2"), "{all}");
        ran
    };
    for name in ["work", "native"] {
        std::fs::create_dir(place.path(name)).expect("made");
    }
    std::fs::write(place.path("work/file"), "content").expect("written");
    let capture = [
        "capture",
        "--workspace",
        "work",
        "--native",
        "native",
        "--state",
        "{}",
        "--store",
        &url,
        "-vvv",
    ];
    let stored = run(&capture, SECRET).exits(0);
    let reference: Vec<&str> = stored.text().split_whitespace().collect();
    assert!(
        server
            .object(&format!("team a/{}.tar.gz", reference[0]))
            .exists()
    );

    let world = common::world();
    for entry in std::fs::read_dir(&world.store).expect("listed").flatten() {
        let (bytes, name) = (
            std::fs::read(entry.path()).expect("read"),
            entry.file_name(),
        );
        let digest = name.to_str().expect("a digest");
        server.plant(
            &format!("team a/{digest}.tar.gz"),
            &bytes,
            &[("sha256", digest)],
        );
    }
    let database = world.database.to_str().expect("UTF-8");
    let verify = |run: &'static str| {
        ["verify", run, "--db", database, "--store", &url, "-vvv"].map(str::to_owned)
    };
    let verify = |id: &'static str, secret: &str| {
        let args = verify(id);
        run(&args.each_ref().map(String::as_str), secret)
    };
    verify(common::id::STORY2, SECRET).exits(0);
    verify(common::id::PRUNED, SECRET).exits(4);
    verify(common::id::CORRUPTED, SECRET).exits(5);
    let refused = verify(common::id::STORY2, "hunter2-wrong").exits(1);
    assert!(
        refused.text().contains("The bucket refuses the signature"),
        "{}",
        refused.text()
    );
    // Doctor reads every byte: labels that are right say nothing of what is below them.
    let doctor = ["doctor", "--db", database, "--store", &url];
    let well = run(&doctor, SECRET).exits(0);
    assert!(well.text().contains("size and digest are right"));
    for entry in std::fs::read_dir(&world.store).expect("listed").flatten() {
        let (mut bytes, name) = (
            std::fs::read(entry.path()).expect("read"),
            entry.file_name(),
        );
        let digest = name.to_str().expect("a digest");
        if let Some(last) = bytes.last_mut() {
            *last ^= 1;
        }
        let key = format!("team a/{digest}.tar.gz");
        server.plant(&key, &bytes, &[("sha256", digest)]);
    }
    let damaged = run(&doctor, SECRET).exits(5);
    assert!(damaged.text().contains("Checkpoint checksum mismatch"));
    let unasked = run(&doctor, "hunter2-wrong").exits(1);
    assert!(unasked.text().contains("✖ store"), "{}", unasked.text());
    let unknown = run(
        &[
            "verify",
            "x",
            "--db",
            database,
            "--store",
            "s3://b?regoin=x",
        ],
        SECRET,
    )
    .exits(2);
    assert!(
        unknown
            .err
            .contains("A bucket's URL has no parameter regoin"),
        "{}",
        unknown.err
    );
    assert!(Path::new(database).exists());
}
