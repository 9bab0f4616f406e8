//! The command line.

use std::path::PathBuf;

use clap::Parser;
use cloud_governor::{ConfigError, Scope, catalogue};

use super::holding::Holding;
use super::listing::{Listing, UnknownName};
use crate::program;

/// Lists the limits that cloud providers publish, as the governor knows them, with their sources; or says what holds for one
/// scope.
///
/// Exit codes: 0 listed; 2 the command line is of no use, the configuration is, or nothing is known of what it
/// names.
#[derive(Clone, Debug, Parser)]
#[command(name = "limits", version, max_term_width = 110)]
#[non_exhaustive]
pub struct Args {
    /// Those of one provider: aws, azure or gcp.
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Those of one service, as scopes name it (ec2, compute, cloudasset), and those of every service of its provider.
    #[arg(long, value_name = "NAME")]
    pub service: Option<String>,
    /// What holds for the calls of this scope, under the configuration that a program would load here (the file that
    /// CLOUD_GOVERNOR_CONFIG names, and the environment): aws/123456789012/eu-west-1/ec2/DescribeVpcs.
    #[arg(long, value_name = "SCOPE", conflicts_with_all = ["provider", "service"])]
    pub scope: Option<Scope>,
    /// A configuration, a YAML file, under that which CLOUD_GOVERNOR_CONFIG names.
    #[arg(long, value_name = "FILE", requires = "scope")]
    pub config: Option<PathBuf>,
    /// As JSON, with nothing left out or put together.
    #[arg(long)]
    pub json: bool,
}

impl Args {
    /// What holds for this scope.
    ///
    /// # Errors
    /// Whatever is wrong with the configuration.
    pub fn holding(&self, scope: &Scope) -> Result<Holding, ConfigError> {
        Ok(Holding::of(scope, &program::config(self.config.as_deref())?))
    }

    /// The published limits that are asked for.
    ///
    /// # Errors
    /// An [`UnknownName`] if the catalogue has nothing of the provider, or of the service.
    pub fn listing(&self) -> Result<Listing, UnknownName> {
        let all = Listing::of(catalogue::published());
        let listing = match &self.provider {
            Some(provider) => all.of_provider(provider)?,
            None => all,
        };
        match &self.service {
            Some(service) => listing.of_service(service),
            None => Ok(listing),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn listing(line: &str) -> Result<Listing, UnknownName> {
        Args::try_parse_from(line.split_whitespace()).expect("it parses").listing()
    }

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn without_a_name_everything_is_listed() {
        let listed = listing("limits").expect("all");
        assert!(listed.limits().iter().copied().eq(catalogue::published()));
    }

    #[test]
    fn names_narrow_it_down_in_any_case() {
        let azure = listing("limits --provider Azure").expect("azure");
        assert!(azure.limits().iter().all(|limit| limit.provider == "azure"));
        let network = listing("limits --provider azure --service Network").expect("network");
        assert!(network.limits().len() < azure.limits().len());
        assert_eq!(network, listing("limits --service network").expect("network, of whatever provider"));
    }

    #[test]
    fn of_a_name_that_is_not_there_the_error_says_which_there_are() {
        let error = listing("limits --provider oracle").expect_err("unknown").to_string();
        assert!(error.contains("\"oracle\"") && error.contains("azure, gcp"), "{error}");
        let error = listing("limits --provider gcp --service ec2").expect_err("of another provider").to_string();
        assert!(error.contains("\"ec2\"") && error.contains("cloudasset, cloudresourcemanager, compute"), "{error}");
    }
}
