//! The calls.

use std::sync::Arc;

use azure_core::credentials::TokenCredential;
use azure_core::http::policies::auth::BearerTokenAuthorizationPolicy;
use azure_core::http::policies::{Policy, PublicApiInstrumentationInformation};
use azure_core::http::{ClientOptions, Context, Method, Pipeline, Request, Url};
use azure_core::json;
use serde::de::DeserializeOwned;

use super::page::{NextLink, Page, RawPage};
use super::rows::{InstanceView, ResourceGroup, Subnet, Subscription, VirtualMachine, VirtualNetwork};

const SUBSCRIPTIONS: &str = "2022-12-01";
const RESOURCES: &str = "2024-03-01";
const NETWORK: &str = "2024-05-01";
const COMPUTE: &str = "2024-07-01";

/// A client of Resource Manager. Clones share one pipeline.
#[derive(Clone, Debug)]
pub struct ArmClient {
    pipeline: Pipeline,
    endpoint: Url,
}

impl ArmClient {
    /// A client of the Resource Manager at `endpoint`: `https://management.azure.com` for the public cloud.
    ///
    /// # Errors
    /// If nothing can be below the endpoint, as with `mailto:`.
    pub fn new(
        credential: Arc<dyn TokenCredential>,
        options: ClientOptions,
        endpoint: &str,
    ) -> azure_core::Result<Self> {
        let endpoint = Url::parse(endpoint)?;
        let scope = endpoint.join("/.default")?;
        let authorization: Arc<dyn Policy> =
            Arc::new(BearerTokenAuthorizationPolicy::new(credential, [scope.to_string()]));
        let (name, version) = (option_env!("CARGO_PKG_NAME"), option_env!("CARGO_PKG_VERSION"));
        let pipeline = Pipeline::new(name, version, options, Vec::new(), vec![authorization], None);
        Ok(ArmClient { pipeline, endpoint })
    }

    /// A page of the subscriptions that the credential may see: the first one, or the one `at` a link.
    ///
    /// # Errors
    /// The SDK's own, unchanged. A link that leads to another server is [`DataConversion`].
    ///
    /// [`DataConversion`]: azure_core::error::ErrorKind::DataConversion
    pub async fn subscriptions(&self, at: Option<&NextLink<Subscription>>) -> azure_core::Result<Page<Subscription>> {
        self.page("Resources.Subscriptions.list", &["subscriptions"], SUBSCRIPTIONS, at).await
    }

    /// A page of a subscription's resource groups.
    ///
    /// # Errors
    /// As [`subscriptions`](ArmClient::subscriptions).
    pub async fn resource_groups(
        &self,
        subscription: &str,
        at: Option<&NextLink<ResourceGroup>>,
    ) -> azure_core::Result<Page<ResourceGroup>> {
        let path = ["subscriptions", subscription, "resourcegroups"];
        self.page("Resources.ResourceGroups.list", &path, RESOURCES, at).await
    }

    /// A page of a subscription's virtual networks.
    ///
    /// # Errors
    /// As [`subscriptions`](ArmClient::subscriptions).
    pub async fn virtual_networks(
        &self,
        subscription: &str,
        at: Option<&NextLink<VirtualNetwork>>,
    ) -> azure_core::Result<Page<VirtualNetwork>> {
        let path = ["subscriptions", subscription, "providers", "Microsoft.Network", "virtualNetworks"];
        self.page("Network.VirtualNetworks.listAll", &path, NETWORK, at).await
    }

    /// A page of a virtual network's subnets.
    ///
    /// # Errors
    /// As [`subscriptions`](ArmClient::subscriptions).
    pub async fn subnets(
        &self,
        subscription: &str,
        group: &str,
        network: &str,
        at: Option<&NextLink<Subnet>>,
    ) -> azure_core::Result<Page<Subnet>> {
        let provider = ["providers", "Microsoft.Network", "virtualNetworks", network, "subnets"];
        let path = [&["subscriptions", subscription, "resourceGroups", group], provider.as_slice()].concat();
        self.page("Network.Subnets.list", &path, NETWORK, at).await
    }

    /// A page of a subscription's virtual machines.
    ///
    /// # Errors
    /// As [`subscriptions`](ArmClient::subscriptions).
    pub async fn virtual_machines(
        &self,
        subscription: &str,
        at: Option<&NextLink<VirtualMachine>>,
    ) -> azure_core::Result<Page<VirtualMachine>> {
        let path = ["subscriptions", subscription, "providers", "Microsoft.Compute", "virtualMachines"];
        self.page("Compute.VirtualMachines.listAll", &path, COMPUTE, at).await
    }

    /// How a virtual machine does.
    ///
    /// # Errors
    /// The SDK's own, unchanged.
    pub async fn instance_view(
        &self,
        subscription: &str,
        group: &str,
        machine: &str,
    ) -> azure_core::Result<InstanceView> {
        let provider = ["providers", "Microsoft.Compute", "virtualMachines", machine, "instanceView"];
        let path = [&["subscriptions", subscription, "resourceGroups", group], provider.as_slice()].concat();
        self.get("Compute.VirtualMachines.instanceView", self.url(&path, COMPUTE)?).await
    }

    async fn page<T: DeserializeOwned>(
        &self,
        operation: &'static str,
        path: &[&str],
        version: &str,
        at: Option<&NextLink<T>>,
    ) -> azure_core::Result<Page<T>> {
        let url = match at {
            Some(link) => link.url().clone(),
            None => self.url(path, version)?,
        };
        self.get::<RawPage<T>>(operation, url).await?.checked(&self.endpoint)
    }

    /// Each segment of the path is escaped: no name leads to another path.
    fn url(&self, path: &[&str], version: &str) -> azure_core::Result<Url> {
        let mut url = self.endpoint.join("/")?;
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.clear().extend(path);
        }
        url.query_pairs_mut().append_pair("api-version", version);
        Ok(url)
    }

    async fn get<T: DeserializeOwned>(&self, operation: &'static str, url: Url) -> azure_core::Result<T> {
        let mut request = Request::new(url, Method::Get);
        request.insert_header("accept", "application/json");
        let context = Context::new().with_value(PublicApiInstrumentationInformation::new(operation, Vec::new()));
        let answer = self.pipeline.send(&context, &mut request, None).await?;
        json::from_json(answer.into_body())
    }
}

#[cfg(test)]
mod tests;
