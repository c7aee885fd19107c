//! Credentials as boto3 finds them: the same places, in the same order. `reqsign` speaks to the
//! services; which one is asked, and what the files say, is decided here.

use std::sync::Arc;

use reqsign_aws_v4::{
    AssumeRoleWithWebIdentityCredentialProvider, Credential, ECSCredentialProvider,
    IMDSv2CredentialProvider, SSOCredentialProvider,
};
use reqsign_core::{Context, ProvideCredential};

use super::environment::AwsEnvironment;
use super::process;
use super::profile::{Profile, Profiles};
use super::refusal::cut;
use crate::error::{Error, ErrorKind, Result};
use crate::text::visible;

/// What is called in a role's session name, in the logs of whoever owns the role.
pub(super) const SESSION: &str = "afterrun";

/// Where credentials are looked for.
#[derive(Clone)]
pub(super) struct Credentials {
    pub environment: AwsEnvironment,
    pub profiles: Arc<Profiles>,
    pub region: String,
    /// For STS and SSO.
    pub services: Context,
    /// For the metadata of container and instance.
    pub metadata: Context,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Credentials").finish_non_exhaustive()
    }
}

impl ProvideCredential for Credentials {
    type Credential = Credential;

    async fn provide_credential(&self, _: &Context) -> reqsign_core::Result<Option<Credential>> {
        let carried = |error: Error| {
            reqsign_core::Error::credential_invalid(error.message()).with_source(error)
        };
        self.find().await.map(Some).map_err(carried)
    }
}

impl Credentials {
    async fn find(&self) -> Result<Credential> {
        let chosen = &self.profiles.chosen;
        // A profile that was named is meant, whatever the environment says.
        if !self.profiles.explicit
            && let Some(found) = self.variables()?
        {
            return Ok(told("the environment", found));
        }
        if let Some(found) = self.assumed(chosen, &mut Vec::new()).await? {
            return Ok(told("a role of the profile", found));
        }
        if let Some(found) = self.of_profile(chosen, !self.profiles.explicit).await? {
            return Ok(found);
        }
        if let Some(found) = self.container().await? {
            return Ok(told("the container's role", found));
        }
        let instance = match self.instance().await {
            Ok(found) => return Ok(told("the instance's role", found)),
            Err(why) => why,
        };
        let variables = match self.profiles.explicit {
            true => "",
            false => "AWS_ACCESS_KEY_ID is not set, ",
        };
        Err(Error::new(
            ErrorKind::Store,
            format!(
                "No AWS credentials were found: {variables}the profile {} has none, there is no \
                 web identity and no container's role, and {instance}",
                visible(chosen)
            ),
        )
        .hint("set AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run `aws configure`"))
    }

    pub(super) fn variables(&self) -> Result<Option<Credential>> {
        let Some(key) = self.environment.get("AWS_ACCESS_KEY_ID") else {
            return Ok(None);
        };
        let Some(secret) = self.environment.get("AWS_SECRET_ACCESS_KEY") else {
            return Err(Error::new(
                ErrorKind::Usage,
                "AWS_ACCESS_KEY_ID is set and AWS_SECRET_ACCESS_KEY is not",
            ));
        };
        let token = self
            .environment
            .first(&["AWS_SECURITY_TOKEN", "AWS_SESSION_TOKEN"]);
        Ok(Some(fixed(key, secret, token)))
    }

    /// A profile's own, in botocore's order: web identity, SSO, credentials file, process,
    /// configuration file.
    pub(super) async fn of_profile(
        &self,
        name: &str,
        by_variables: bool,
    ) -> Result<Option<Credential>> {
        let profile = self.profiles.profile(name).cloned().unwrap_or_default();
        if let Some(found) = self.web_identity(&profile, by_variables).await? {
            return Ok(Some(told("a web identity", found)));
        }
        if let Some(found) = self.sso(name, &profile).await? {
            return Ok(Some(told("SSO", found)));
        }
        if let Some(found) = keys(name, &profile.credentials)? {
            return Ok(Some(told("the credentials file", found)));
        }
        if let Some(command) = profile.get("credential_process") {
            let found = process::run(command).await;
            return Ok(Some(told("a process", found.map_err(of(name))?)));
        }
        let found = keys(name, &profile.config)?;
        Ok(found.map(|found| told("the configuration file", found)))
    }

    async fn web_identity(
        &self,
        profile: &Profile,
        by_variables: bool,
    ) -> Result<Option<Credential>> {
        let value = |variable: &str, key: &str| {
            let set = self.environment.get(variable).filter(|_| by_variables);
            set.or_else(|| profile.get(key)).map(str::to_owned)
        };
        let Some(file) = value("AWS_WEB_IDENTITY_TOKEN_FILE", "web_identity_token_file") else {
            return Ok(None);
        };
        let Some(role) = value("AWS_ROLE_ARN", "role_arn") else {
            return Err(Error::new(
                ErrorKind::Usage,
                "A web identity's token is named, but no role: AWS_ROLE_ARN is not set",
            ));
        };
        let session = value("AWS_ROLE_SESSION_NAME", "role_session_name");
        let file = self.environment.expanded(&file);
        let provider = AssumeRoleWithWebIdentityCredentialProvider::with_config(role, file)
            .with_role_session_name(session.unwrap_or_else(|| SESSION.to_owned()))
            .with_region(self.region.clone())
            .with_regional_sts_endpoint();
        let answer = provider.provide_credential(&self.services).await;
        answer.map_err(|error| reason("The web identity is not accepted", &error))
    }

    async fn sso(&self, name: &str, profile: &Profile) -> Result<Option<Credential>> {
        let (account, role) = (profile.get("sso_account_id"), profile.get("sso_role_name"));
        let (Some(account), Some(role)) = (account, role) else {
            return match account.or(role) {
                None => Ok(None),
                Some(_) => Err(about(
                    name,
                    ErrorKind::Usage,
                    "SSO needs both sso_account_id and sso_role_name",
                )),
            };
        };
        let session = profile.get("sso_session");
        let section = session.and_then(|session| self.profiles.sessions.get(session));
        let value = |key: &str| match section {
            Some(section) => section.get(key).map(String::as_str),
            None => profile.get(key),
        };
        let (Some(region), Some(start)) = (value("sso_region"), value("sso_start_url")) else {
            return Err(about(
                name,
                ErrorKind::Usage,
                "SSO needs sso_region and sso_start_url, here or in its sso-session",
            ));
        };
        let mut provider = SSOCredentialProvider::new()
            .with_account_id(account)
            .with_role_name(role)
            .with_region(region)
            // Only names the cached token's file, and a session's file is named after the session.
            .with_start_url(session.unwrap_or(start));
        if let Some(endpoint) = endpoint(&self.environment, &self.profiles, "sso") {
            let endpoint = endpoint.trim_end_matches('/');
            provider = provider.with_endpoint(format!("{endpoint}/federation/credentials"));
        }
        let answer = provider.provide_credential(&self.services).await;
        answer.map_err(|error| {
            of(name)(reason("SSO gives no credentials", &error)).hint(format!(
                "sign in with `aws sso login --profile {}`",
                visible(name)
            ))
        })
    }

    pub(super) async fn container(&self) -> Result<Option<Credential>> {
        let relative = self
            .environment
            .get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
        let full = self.environment.get("AWS_CONTAINER_CREDENTIALS_FULL_URI");
        let mut provider = ECSCredentialProvider::new();
        match (relative, full) {
            (Some(relative), _) => provider = provider.with_relative_uri(relative),
            (None, Some(full)) if is_private(full) => provider = provider.with_endpoint(full),
            (None, Some(_)) => {
                return Err(Error::new(
                    ErrorKind::Usage,
                    "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor of this machine",
                ));
            }
            (None, None) => return Ok(None),
        }
        if let Some(file) = self
            .environment
            .get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
        {
            provider = provider.with_auth_token_file(file);
        }
        let answer = provider.provide_credential(&self.metadata).await;
        answer.map_err(|error| reason("The container's role is not given", &error))
    }

    /// The instance's, or why there is none.
    pub(super) async fn instance(&self) -> std::result::Result<Credential, String> {
        if self.environment.says_yes("AWS_EC2_METADATA_DISABLED") {
            return Err("AWS_EC2_METADATA_DISABLED is set".into());
        }
        let mut provider = IMDSv2CredentialProvider::new();
        if let Some(endpoint) = self.environment.get("AWS_EC2_METADATA_SERVICE_ENDPOINT") {
            provider = provider.with_endpoint(endpoint.trim_end_matches('/'));
        }
        match provider.provide_credential(&self.metadata).await {
            Ok(Some(found)) => Ok(found),
            Ok(None) => Err("the instance has no role".into()),
            Err(error) => Err(reason("the instance's metadata give none", &error)
                .message()
                .to_owned()),
        }
    }
}

/// Where `service` is when not at AWS: the service's variable, the variable for all, the profile.
pub(super) fn endpoint(
    environment: &AwsEnvironment,
    profiles: &Profiles,
    service: &str,
) -> Option<String> {
    if environment.says_yes("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS") {
        return None;
    }
    let own = format!("AWS_ENDPOINT_URL_{}", service.to_uppercase());
    let set = environment.first(&[&own, "AWS_ENDPOINT_URL"]);
    set.map(str::to_owned)
        .or_else(|| profiles.endpoint(service))
}

/// Credentials that are there already.
pub(super) struct Fixed(pub Credential);

impl std::fmt::Debug for Fixed {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Fixed")
    }
}

impl ProvideCredential for Fixed {
    type Credential = Credential;

    async fn provide_credential(&self, _: &Context) -> reqsign_core::Result<Option<Credential>> {
        Ok(Some(self.0.clone()))
    }
}

fn fixed(key: &str, secret: &str, token: Option<&str>) -> Credential {
    Credential {
        access_key_id: key.to_owned(),
        secret_access_key: secret.to_owned(),
        session_token: token.map(str::to_owned),
        expires_in: None,
    }
}

/// The keys in one file's section.
fn keys(name: &str, section: &super::profile::Section) -> Result<Option<Credential>> {
    let value = |key: &str| section.get(key).filter(|value| !value.is_empty());
    let Some(key) = value("aws_access_key_id") else {
        return Ok(None);
    };
    let Some(secret) = value("aws_secret_access_key") else {
        let what = "it has aws_access_key_id and no aws_secret_access_key";
        return Err(about(name, ErrorKind::Usage, what));
    };
    let token = value("aws_security_token").or_else(|| value("aws_session_token"));
    Ok(Some(fixed(key, secret, token.map(String::as_str))))
}

/// What botocore lets a container's credentials come from: https, this machine, and the addresses
/// of ECS and EKS.
fn is_private(url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(url) else {
        return false;
    };
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_matches(['[', ']']);
    let local = match host.parse::<std::net::IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost",
    };
    let known = ["169.254.170.2", "169.254.170.23", "fd00:ec2::23"].contains(&host);
    url.scheme() == "https" || local || known
}

fn told(source: &str, found: Credential) -> Credential {
    tracing::info!("AWS credentials come from {source}");
    found
}

pub(super) fn about(name: &str, kind: ErrorKind, what: &str) -> Error {
    Error::new(kind, format!("The AWS profile {}: {what}", visible(name)))
}

/// Says whose credentials failed.
pub(super) fn of(name: &str) -> impl Fn(Error) -> Error {
    move |error| about(name, error.kind(), error.message())
}

/// What a service of `reqsign` failed with, after `what`.
pub(super) fn reason(what: &str, error: &reqsign_core::Error) -> Error {
    let mut told = error.to_string();
    // What cannot be parsed may be quoted, and may be secret.
    if told.starts_with("failed to parse") {
        told.truncate(told.find(": ").unwrap_or(told.len()));
    }
    let deeper = std::error::Error::source(error)
        .filter(|source| source.is::<reqsign_core::Error>())
        .map(ToString::to_string);
    let told = match deeper {
        Some(deeper) => format!("{told}: {deeper}"),
        None => told,
    };
    Error::new(ErrorKind::Store, format!("{what}: {}", cut(&told)))
}
