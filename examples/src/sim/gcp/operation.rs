//! The operations the simulated Google Cloud knows.

/// One of its services.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Service {
    /// Cloud Asset Inventory. Its quotas are those of the project that a call is charged to.
    CloudAsset,
    /// Compute Engine. Its quotas are those of the project that a call asks about.
    Compute,
    /// Cloud Storage's JSON API. Its quotas are those of the bucket that a call reads.
    Storage,
}

impl Service {
    /// Its name in leaves: the first label of its host.
    pub fn name(self) -> &'static str {
        match self {
            Service::CloudAsset => "cloudasset",
            Service::Compute => "compute",
            Service::Storage => "storage",
        }
    }

    /// Its host, which is also its name in errors.
    pub(super) fn host(self) -> &'static str {
        match self {
            Service::CloudAsset => "cloudasset.googleapis.com",
            Service::Compute => "compute.googleapis.com",
            Service::Storage => "storage.googleapis.com",
        }
    }
}

/// One operation of one service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Cloud Asset: what a project or an organization has, kind by kind.
    ListAssets,
    /// Cloud Asset: the same, as search results.
    SearchAllResources,
    /// Compute: a zone's instances.
    ListInstances,
    /// Compute: the instances of all zones.
    AggregatedListInstances,
    /// Compute: one instance.
    GetInstance,
    /// Storage: an object's bytes, or what is known of it.
    GetObject,
}

impl Operation {
    /// All of them.
    pub const ALL: [Operation; 6] = [
        Operation::ListAssets,
        Operation::SearchAllResources,
        Operation::ListInstances,
        Operation::AggregatedListInstances,
        Operation::GetInstance,
        Operation::GetObject,
    ];

    /// The service it belongs to.
    pub fn service(self) -> Service {
        match self {
            Operation::ListAssets | Operation::SearchAllResources => Service::CloudAsset,
            Operation::ListInstances | Operation::AggregatedListInstances | Operation::GetInstance => Service::Compute,
            Operation::GetObject => Service::Storage,
        }
    }

    /// Its name: that of the method, which services of the older kind have in a collection.
    pub fn name(self) -> &'static str {
        match self {
            Operation::ListAssets => "ListAssets",
            Operation::SearchAllResources => "SearchAllResources",
            Operation::ListInstances => "instances.list",
            Operation::AggregatedListInstances => "instances.aggregatedList",
            Operation::GetInstance => "instances.get",
            Operation::GetObject => "objects.get",
        }
    }

    /// The operation of this name in this service.
    pub fn find(service: &str, name: &str) -> Option<Self> {
        Operation::ALL.into_iter().find(|operation| operation.service().name() == service && operation.name() == name)
    }
}
