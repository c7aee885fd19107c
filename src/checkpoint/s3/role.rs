//! A profile with `role_arn`: its role is taken on with the credentials of another source.

use reqsign_aws_v4::{AssumeRoleCredentialProvider, Credential, RequestSigner};
use reqsign_core::{ProvideCredential as _, Signer};

use super::credentials::{Credentials, Fixed, SESSION, about, of, reason};
use super::profile::Profile;
use crate::error::{ErrorKind, Result};

impl Credentials {
    /// The role that a profile takes on, with the credentials of another source.
    pub(super) async fn assumed(
        &self,
        name: &str,
        seen: &mut Vec<String>,
    ) -> Result<Option<Credential>> {
        let profile = self.profiles.profile(name).cloned().unwrap_or_default();
        let Some(role) = takes_role(&profile) else {
            return Ok(None);
        };
        if profile.get("mfa_serial").is_some() {
            return Err(about(name, ErrorKind::Unsupported, "its role asks for an MFA code").hint(
                "let the AWS CLI ask for it: eval \"$(aws configure export-credentials --format env)\"",
            ));
        }
        let source = Box::pin(self.source(name, &profile, seen)).await?;
        let signer = Signer::new(
            self.services.clone(),
            Fixed(source),
            RequestSigner::new("sts", &self.region),
        );
        let session = profile.get("role_session_name").unwrap_or(SESSION);
        let mut provider = AssumeRoleCredentialProvider::new(role.to_owned(), signer)
            .with_role_session_name(session.to_owned())
            .with_region(self.region.clone())
            .with_regional_sts_endpoint();
        if let Some(id) = profile.get("external_id") {
            provider = provider.with_external_id(id.to_owned());
        }
        if let Some(seconds) = profile.get("duration_seconds") {
            let seconds = seconds.parse();
            provider =
                provider.with_duration_seconds(seconds.map_err(|_| {
                    about(name, ErrorKind::Usage, "its duration_seconds is no number")
                })?);
        }
        let answer = provider.provide_credential(&self.services).await;
        answer.map_err(|error| of(name)(reason("its role is not given", &error)))
    }

    /// Whose credentials take on the role of `name`.
    async fn source(
        &self,
        name: &str,
        profile: &Profile,
        seen: &mut Vec<String>,
    ) -> Result<Credential> {
        let wrong = |what: &str| about(name, ErrorKind::Usage, what);
        let found = match (
            profile.get("source_profile"),
            profile.get("credential_source"),
        ) {
            (Some(other), None) => {
                let Some(source) = self.profiles.profile(other) else {
                    return Err(wrong("its source_profile is in neither file"));
                };
                let own = has_keys(source) || takes_role(source).is_none();
                if seen.iter().any(|before| before == other) || (other == name && !own) {
                    return Err(wrong("its source_profile leads back to itself"));
                }
                seen.push(name.to_owned());
                match own {
                    true => self.of_profile(other, false).await?,
                    false => self.assumed(other, seen).await?,
                }
            }
            (None, Some("Environment")) => self.variables()?,
            (None, Some("EcsContainer")) => self.container().await?,
            (None, Some("Ec2InstanceMetadata")) => {
                Some(self.instance().await.map_err(|why| wrong(&why))?)
            }
            (None, Some(_)) => return Err(wrong("its credential_source is not known")),
            _ => {
                return Err(wrong(
                    "a role needs either source_profile or credential_source",
                ));
            }
        };
        found.ok_or_else(|| wrong("the source of its role has no credentials"))
    }
}

fn takes_role(profile: &Profile) -> Option<&str> {
    let web = profile.get("web_identity_token_file").is_some();
    profile.get("role_arn").filter(|_| !web)
}

fn has_keys(profile: &Profile) -> bool {
    profile.get("aws_access_key_id").is_some()
}
