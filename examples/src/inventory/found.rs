//! Counts of what was found.

use std::ops::AddAssign;

use serde::Serialize;

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Found {
    /// Answers of `GetCallerIdentity`: one for each region of each account.
    pub identities: u64,
    /// Log groups whose streams are all listed.
    pub log_groups: u64,
    /// Log streams.
    pub log_streams: u64,
    /// Parameters that were read, too.
    pub parameters: u64,
    /// Secrets that were described, too.
    pub secrets: u64,
    /// VPCs.
    pub vpcs: u64,
    /// Subnets.
    pub subnets: u64,
    /// Security groups.
    pub security_groups: u64,
    /// Instances.
    pub instances: u64,
    /// Volumes.
    pub volumes: u64,
    /// What was found in Azure, if that is listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub azure: Option<FoundInAzure>,
    /// What was found in Google Cloud, if that is listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gcp: Option<FoundInGcp>,
}

/// What was found in Azure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FoundInAzure {
    /// Resource groups.
    pub resource_groups: u64,
    /// Virtual networks whose subnets are all listed.
    pub virtual_networks: u64,
    /// Subnets of virtual networks.
    pub subnets: u64,
    /// Virtual machines whose instance view was read, too.
    pub virtual_machines: u64,
}

/// What was found in Google Cloud.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FoundInGcp {
    /// Assets that were listed.
    pub assets: u64,
    /// Resources that a search found: the assets once more.
    pub search_results: u64,
    /// Instances that Compute listed.
    pub instances: u64,
}

impl Found {
    /// The kinds of resources: everything but the identities, which are the accounts' own.
    fn kinds(&self) -> [u64; 16] {
        let (azure, gcp) = (self.in_azure(), self.in_gcp());
        [
            self.log_groups,
            self.log_streams,
            self.parameters,
            self.secrets,
            self.vpcs,
            self.subnets,
            self.security_groups,
            self.instances,
            self.volumes,
            azure.resource_groups,
            azure.virtual_networks,
            azure.subnets,
            azure.virtual_machines,
            gcp.assets,
            gcp.search_results,
            gcp.instances,
        ]
    }

    /// What was found in Azure: nothing, if that is not listed.
    pub fn in_azure(&self) -> FoundInAzure {
        self.azure.unwrap_or_default()
    }

    /// What was found in Google Cloud: nothing, if that is not listed.
    pub fn in_gcp(&self) -> FoundInGcp {
        self.gcp.unwrap_or_default()
    }

    /// Resources.
    pub fn resources(&self) -> u64 {
        self.kinds().iter().sum()
    }

    /// How many resources of those that are there are not among these.
    pub fn missing(&self, there: &Found) -> u64 {
        there.kinds().into_iter().zip(self.kinds()).map(|(there, found)| there.saturating_sub(found)).sum()
    }
}

impl AddAssign for Found {
    fn add_assign(&mut self, other: Found) {
        self.identities += other.identities;
        self.log_groups += other.log_groups;
        self.log_streams += other.log_streams;
        self.parameters += other.parameters;
        self.secrets += other.secrets;
        self.vpcs += other.vpcs;
        self.subnets += other.subnets;
        self.security_groups += other.security_groups;
        self.instances += other.instances;
        self.volumes += other.volumes;
        if let Some(other) = other.azure {
            *self.azure.get_or_insert_default() += other;
        }
        if let Some(other) = other.gcp {
            *self.gcp.get_or_insert_default() += other;
        }
    }
}

impl AddAssign for FoundInAzure {
    fn add_assign(&mut self, other: FoundInAzure) {
        self.resource_groups += other.resource_groups;
        self.virtual_networks += other.virtual_networks;
        self.subnets += other.subnets;
        self.virtual_machines += other.virtual_machines;
    }
}

impl AddAssign for FoundInGcp {
    fn add_assign(&mut self, other: FoundInGcp) {
        self.assets += other.assets;
        self.search_results += other.search_results;
        self.instances += other.instances;
    }
}

impl From<FoundInAzure> for Found {
    fn from(azure: FoundInAzure) -> Self {
        Found { azure: Some(azure), ..Found::default() }
    }
}

impl From<FoundInGcp> for Found {
    fn from(gcp: FoundInGcp) -> Self {
        Found { gcp: Some(gcp), ..Found::default() }
    }
}
