//! What Cloud Asset Inventory lists of a project.

use super::Project;

/// One kind of asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum AssetKind {
    /// The project itself.
    Project,
    /// Instances.
    Instance,
    /// Disks.
    Disk,
    /// Storage buckets.
    Bucket,
    /// Service accounts.
    ServiceAccount,
}

impl AssetKind {
    /// All of them, in the order in which they are listed.
    pub const ALL: [AssetKind; 5] =
        [AssetKind::Project, AssetKind::Instance, AssetKind::Disk, AssetKind::Bucket, AssetKind::ServiceAccount];

    /// Google's name for it.
    pub fn asset_type(self) -> &'static str {
        match self {
            AssetKind::Project => "cloudresourcemanager.googleapis.com/Project",
            AssetKind::Instance => "compute.googleapis.com/Instance",
            AssetKind::Disk => "compute.googleapis.com/Disk",
            AssetKind::Bucket => "storage.googleapis.com/Bucket",
            AssetKind::ServiceAccount => "iam.googleapis.com/ServiceAccount",
        }
    }

    /// The kind of this name.
    pub fn find(asset_type: &str) -> Option<Self> {
        AssetKind::ALL.into_iter().find(|kind| kind.asset_type() == asset_type)
    }
}

/// What is listed of one asset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::sim::gcp) struct Asset {
    /// Its full resource name.
    pub(in crate::sim::gcp) name: String,
    /// Its own name.
    pub(in crate::sim::gcp) display_name: String,
    /// Where it is.
    pub(in crate::sim::gcp) location: String,
}

impl Project {
    /// How many assets of one kind it has.
    pub fn assets(&self, kind: AssetKind) -> u64 {
        match kind {
            AssetKind::Project => 1,
            AssetKind::Instance => self.instances.len() as u64,
            AssetKind::Disk => self.disks.into(),
            AssetKind::Bucket => self.buckets.len() as u64,
            AssetKind::ServiceAccount => self.service_accounts.into(),
        }
    }

    /// Its nth asset of one kind, counted from 0.
    pub(in crate::sim::gcp) fn asset(&self, kind: AssetKind, index: usize) -> Option<Asset> {
        let id = &self.id;
        let zonal = |collection, name: &str, zone: &str| Asset {
            name: format!("//compute.googleapis.com/projects/{id}/zones/{zone}/{collection}/{name}"),
            display_name: name.to_owned(),
            location: zone.to_owned(),
        };
        Some(match kind {
            AssetKind::Project if index == 0 => Asset {
                name: format!("//cloudresourcemanager.googleapis.com/projects/{id}"),
                display_name: id.clone(),
                location: "global".to_owned(),
            },
            AssetKind::Project => return None,
            AssetKind::Instance => {
                let instance = self.instances.get(index)?;
                zonal("instances", &instance.name, instance.zone)
            }
            AssetKind::Disk => {
                let index = u32::try_from(index).ok().filter(|index| *index < self.disks)?;
                let (name, zone) = self.disk(index);
                zonal("disks", &name, zone)
            }
            AssetKind::Bucket => {
                let bucket = self.buckets.get(index)?;
                Asset {
                    name: format!("//storage.googleapis.com/{}", bucket.name),
                    display_name: bucket.name.clone(),
                    location: bucket.location.to_owned(),
                }
            }
            AssetKind::ServiceAccount => {
                let index = u32::try_from(index).ok().filter(|index| *index < self.service_accounts)?;
                let email = self.service_account(index);
                Asset {
                    name: format!("//iam.googleapis.com/projects/{id}/serviceAccounts/{email}"),
                    display_name: email,
                    location: "global".to_owned(),
                }
            }
        })
    }
}
