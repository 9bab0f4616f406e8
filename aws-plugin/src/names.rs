//! Service names: what the SDK calls a service, and what a [`Scope`](cloud_governor::Scope) calls it.
//!
//! Scopes use botocore's names, so that hooked calls, calls made by hand and limits written down by people meet in the
//! same leaf. Most of them are the Smithy service id in lower case without spaces. The rest is listed here: names that
//! keep their hyphens, and names that are another word.

use std::borrow::Cow;

/// Botocore's name of a service.
///
/// Takes the Smithy service id (`Secrets Manager`, as the SDK's `Metadata` has it) or the SDK's own module name
/// (`secretsmanager`, as its user agent has it). An unknown service gets the id in lower case without spaces.
///
/// ```
/// use cloud_governor_aws::service_name;
///
/// assert_eq!(service_name("Secrets Manager"), "secretsmanager");
/// assert_eq!(service_name("SFN"), "stepfunctions");
/// assert_eq!(service_name("ACM PCA"), "acm-pca");
/// ```
pub fn service_name(service_id: &str) -> Cow<'static, str> {
    let key = squashed(service_id);
    if let Some((_, name)) = OTHER_WORDS.iter().find(|(squashed, _)| *squashed == key) {
        return Cow::Borrowed(name);
    }
    match HYPHENATED.iter().find(|name| is_squashed(name, &key)) {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(key),
    }
}

/// The region that a [`Scope`](cloud_governor::Scope) carries: the client's, or `aws-global` for a service that has one
/// endpoint for all regions, so that its calls share a leaf whatever region a client is set to. Takes botocore's name.
pub(crate) fn scope_region<'a>(service: &str, client_region: Option<&'a str>) -> &'a str {
    if GLOBAL.contains(&service) { "aws-global" } else { client_region.unwrap_or_default() }
}

fn squashed(service_id: &str) -> String {
    service_id.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

fn is_squashed(name: &str, key: &str) -> bool {
    name.bytes().filter(|byte| *byte != b'-').eq(key.bytes())
}

/// Squashed id and name, where the name is another word than the id.
const OTHER_WORDS: &[(&str, &str)] = &[
    ("applicationdiscoveryservice", "discovery"),
    ("cloudwatchlogs", "logs"),
    ("cognitoidentityprovider", "cognito-idp"),
    ("configservice", "config"),
    ("costandusagereportservice", "cur"),
    ("costexplorer", "ce"),
    ("databasemigrationservice", "dms"),
    ("directoryservice", "ds"),
    ("directoryservicedata", "ds-data"),
    ("elasticloadbalancing", "elb"),
    ("elasticloadbalancingv2", "elbv2"),
    ("elasticsearchservice", "es"),
    ("eventbridge", "events"),
    ("iotdataplane", "iot-data"),
    ("iotjobsdataplane", "iot-jobs-data"),
    ("lexmodelbuildingservice", "lex-models"),
    ("lexmodelsv2", "lexv2-models"),
    ("lexruntimeservice", "lex-runtime"),
    ("lexruntimev2", "lexv2-runtime"),
    ("marketplaceentitlementservice", "marketplace-entitlement"),
    ("marketplacemetering", "meteringmarketplace"),
    ("migrationhub", "mgh"),
    ("serverlessapplicationrepository", "serverlessrepo"),
    ("sfn", "stepfunctions"),
    ("simpledb", "sdb"),
];

/// Names that are the id in lower case with hyphens.
const HYPHENATED: &[&str] = &[
    "abuse-signal",
    "account-access",
    "account-access-runtime",
    "acm-pca",
    "agent-discovery",
    "agent-registry",
    "agent-registry-control",
    "application-autoscaling",
    "application-insights",
    "application-signals",
    "arc-region-switch",
    "arc-zonal-shift",
    "autoscaling-plans",
    "backup-gateway",
    "bcm-dashboards",
    "bcm-data-exports",
    "bcm-pricing-calculator",
    "bcm-recommended-actions",
    "bedrock-agent",
    "bedrock-agent-runtime",
    "bedrock-agentcore",
    "bedrock-agentcore-control",
    "bedrock-data-automation",
    "bedrock-data-automation-runtime",
    "bedrock-runtime",
    "chime-sdk-identity",
    "chime-sdk-media-pipelines",
    "chime-sdk-meetings",
    "chime-sdk-messaging",
    "chime-sdk-voice",
    "cloudfront-keyvaluestore",
    "cloudtrail-data",
    "codeguru-reviewer",
    "codeguru-security",
    "codestar-connections",
    "codestar-notifications",
    "cognito-identity",
    "cognito-sync",
    "compute-optimizer",
    "compute-optimizer-automation",
    "connect-contact-lens",
    "cost-optimization-hub",
    "customer-profiles",
    "devops-agent",
    "devops-guru",
    "docdb-elastic",
    "ec2-instance-connect",
    "ecr-public",
    "eks-auth",
    "emr-containers",
    "emr-serverless",
    "geo-maps",
    "geo-places",
    "geo-routes",
    "iam-toolbox",
    "inspector-scan",
    "iot-managed-integrations",
    "ivs-realtime",
    "kendra-ranking",
    "kinesis-video-archived-media",
    "kinesis-video-media",
    "kinesis-video-signaling",
    "kinesis-video-webrtc-storage",
    "lambda-core",
    "lambda-microvms",
    "lambda-web",
    "launch-wizard",
    "license-manager",
    "license-manager-linux-subscriptions",
    "license-manager-user-subscriptions",
    "managedblockchain-query",
    "marketplace-agreement",
    "marketplace-catalog",
    "marketplace-deployment",
    "marketplace-discovery",
    "marketplace-reporting",
    "mediapackage-vod",
    "mediastore-data",
    "medical-imaging",
    "migration-hub-refactor-spaces",
    "migrationhub-config",
    "mwaa-serverless",
    "neptune-graph",
    "network-firewall",
    "network-security-manager",
    "nova-act",
    "partnercentral-account",
    "partnercentral-benefits",
    "partnercentral-channel",
    "partnercentral-marketing",
    "partnercentral-revenue-measurement",
    "partnercentral-selling",
    "payment-cryptography",
    "payment-cryptography-data",
    "pca-connector-ad",
    "pca-connector-scep",
    "personalize-events",
    "personalize-runtime",
    "pinpoint-email",
    "pinpoint-sms-voice",
    "pinpoint-sms-voice-v2",
    "pricing-plan-manager",
    "rds-data",
    "redshift-data",
    "redshift-serverless",
    "resource-explorer-2",
    "resource-groups",
    "route53-recovery-cluster",
    "route53-recovery-control-config",
    "route53-recovery-readiness",
    "sagemaker-a2i-runtime",
    "sagemaker-edge",
    "sagemaker-featurestore-runtime",
    "sagemaker-gateway-runtime",
    "sagemaker-geospatial",
    "sagemaker-inference-router-runtime",
    "sagemaker-metrics",
    "sagemaker-runtime",
    "security-ir",
    "service-quotas",
    "servicecatalog-appregistry",
    "signer-data",
    "snow-device-management",
    "ssm-contacts",
    "ssm-guiconnect",
    "ssm-incidents",
    "ssm-quicksetup",
    "ssm-sap",
    "sso-admin",
    "sso-oidc",
    "support-app",
    "timestream-influxdb",
    "timestream-query",
    "timestream-write",
    "voice-id",
    "vpc-lattice",
    "waf-regional",
    "workspaces-instances",
    "workspaces-thin-client",
    "workspaces-web",
];

/// Services whose endpoint has no region in it, by botocore's endpoint rules and its `endpoints.json`
/// (`isRegionalized: false`). STS and S3 have a global endpoint too, but a client uses its region's.
const GLOBAL: &[&str] = &[
    "account",
    "artifact",
    "bcm-dashboards",
    "bcm-data-exports",
    "bcm-pricing-calculator",
    "bcm-recommended-actions",
    "billing",
    "billingconductor",
    "budgets",
    "ce",
    "chime",
    "cloudfront",
    "cloudfront-keyvaluestore",
    "codecatalyst",
    "freetier",
    "health",
    "iam",
    "importexport",
    "invoicing",
    "networkmanager",
    "notificationscontacts",
    "organizations",
    "partnercentral-channel",
    "route53",
    "route53-recovery-control-config",
    "savingsplans",
    "shield",
    "support",
    "sustainability",
    "taxsettings",
    "waf",
];

#[cfg(test)]
mod tests;
