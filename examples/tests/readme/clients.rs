//! The README's clients on tonic and reqwest.

/// Compiled, not run: the test looks for these lines in the README.
#[allow(dead_code)]
async fn clients(config: gcloud_storage::client::ClientConfig) -> anyhow::Result<()> {
    use cloud_governor::grpc::GrpcLayer;
    use cloud_governor::middleware::GovernorMiddleware;
    use cloud_governor::{CallOptions, Priority, Refusal, Resilience, Scope};
    use cloud_governor_gcp::{GcpOptions, grpc_layer, http_middleware};
    use gcloud_googleapis::pubsub::v1::publisher_client::PublisherClient;
    use gcloud_storage::client::{Client, ClientConfig};
    use reqwest_middleware::ClientBuilder;
    use tonic::transport::Endpoint;
    use tower::ServiceBuilder;

    // Every generated client over the channel: of gcloud-googleapis on tonic 0.14, of google-cloud-googleapis on 0.12.
    let options = GcpOptions::new().account("projects/my-project");
    // This one lacks `tls_config` and tokens; gcloud-gax's has both.
    let channel = Endpoint::from_static("https://pubsub.googleapis.com").connect_lazy();
    let channel = ServiceBuilder::new().layer(grpc_layer(options.clone())).service(channel);
    let publisher = PublisherClient::new(channel);

    // gcloud-storage takes an HTTP client. `config` is `ClientConfig::default().with_auth().await?`.
    let http = ClientBuilder::new(reqwest::Client::new()).with(http_middleware(options)).build();
    let storage = Client::new(ClientConfig { http: Some(http), ..config });

    // Any other gRPC service, and any other HTTP API: here each host is a provider of its own.
    let careful = Resilience::new().idempotent(false); // what may have been booked is not booked again
    let ledger = ServiceBuilder::new()
        .layer(GrpcLayer::new(Scope::new("ledger", "", "", "grpc"), careful))
        .service(Endpoint::from_static("https://ledger.internal").connect_lazy());
    let http = ClientBuilder::new(reqwest::Client::new()).with(GovernorMiddleware::by_host()).build();

    // One request, treated differently; a refusal is behind the client's own error.
    let page = "https://api.github.com/orgs/octo-org/repos";
    let urgent = CallOptions::new().priority(Priority::High);
    match http.get(page).with_extension(urgent).send().await {
        Err(error) if Refusal::find(&error).is_some() => println!("not sent: {error}"),
        answer => println!("{}", answer?.status()),
    }

    drop((publisher, storage, ledger));
    Ok(())
}

#[test]
fn the_clients_shown_compile() {
    let mut source = include_str!("clients.rs").lines().map(str::trim);
    for line in super::block("rust", "GovernorMiddleware::by_host()").lines().map(str::trim) {
        assert!(source.any(|written| written == line), "`{line}` is not in the source, or not in its place");
    }
}
