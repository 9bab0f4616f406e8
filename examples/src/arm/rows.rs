//! What a list is made of, as far as it is shown.

use serde::Deserialize;

/// A subscription.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Subscription {
    /// Its id.
    pub subscription_id: String,
    /// Its name.
    pub display_name: String,
    /// `Enabled`, for one that can be used.
    pub state: String,
}

/// A resource group.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct ResourceGroup {
    /// Its id.
    pub id: ResourceId,
    /// Its name.
    pub name: String,
    /// Where it is.
    pub location: String,
}

/// A virtual network.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct VirtualNetwork {
    /// Its id.
    pub id: ResourceId,
    /// Its name.
    pub name: String,
    /// Where it is.
    pub location: String,
}

/// A subnet.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Subnet {
    /// Its id.
    pub id: ResourceId,
    /// Its name.
    pub name: String,
}

/// A virtual machine.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct VirtualMachine {
    /// Its id.
    pub id: ResourceId,
    /// Its name.
    pub name: String,
    /// Where it is.
    pub location: String,
}

/// How a virtual machine does.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct InstanceView {
    /// One of each kind.
    #[serde(default)]
    pub statuses: Vec<Status>,
}

impl InstanceView {
    /// Whether it runs, as Azure says it: `running`, `deallocated`, .. ; `None` if Azure does not know.
    pub fn power_state(&self) -> Option<&str> {
        self.statuses.iter().find_map(|status| status.code.strip_prefix("PowerState/"))
    }
}

/// One thing that is so.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Status {
    /// Kind and value, such as `PowerState/running`.
    pub code: String,
}

/// The path that names a resource, from its subscription on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(transparent)]
pub struct ResourceId(String);

impl ResourceId {
    /// The path.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The resource group it is in, if the path names one. Azure writes the word before it in more than one case.
    pub fn resource_group(&self) -> Option<&str> {
        let mut segments = self.0.split('/');
        segments.by_ref().find(|segment| segment.eq_ignore_ascii_case("resourceGroups"))?;
        segments.next()
    }
}

impl From<&str> for ResourceId {
    fn from(path: &str) -> Self {
        ResourceId(path.to_owned())
    }
}

impl std::fmt::Display for ResourceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_is_found_whatever_case_its_word_is_in() {
        for path in
            ["/subscriptions/s/resourceGroups/One/x", "/subscriptions/s/resourcegroups/One", "/RESOURCEGROUPS/One"]
        {
            assert_eq!(ResourceId::from(path).resource_group(), Some("One"), "{path}");
        }
        for path in ["", "/subscriptions/s", "/subscriptions/s/resourceGroups"] {
            assert_eq!(ResourceId::from(path).resource_group(), None, "{path}");
        }
    }

    #[test]
    fn the_power_state_is_one_of_the_statuses() {
        let view = |json| serde_json::from_str::<InstanceView>(json).expect("a view");
        let known = view(r#"{"statuses":[{"code":"ProvisioningState/succeeded"},{"code":"PowerState/running"}]}"#);
        assert_eq!(known.power_state(), Some("running"));
        assert_eq!(view(r#"{"statuses":[{"code":"ProvisioningState/updating"}]}"#).power_state(), None);
        assert_eq!(view("{}").power_state(), None);
    }
}
