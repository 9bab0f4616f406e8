//! The README's clients on tonic and reqwest.

/// Compiled, not run: the test looks for these lines in the README.
#[allow(dead_code)]
fn clients(channel: tonic::transport::Channel, ledger: tonic::transport::Channel) {
    use cloud_governor::grpc::GrpcLayer;
    use cloud_governor::middleware::GovernorMiddleware;
    use cloud_governor::{Resilience, Scope};
    use cloud_governor_gcp::{GcpOptions, grpc_layer, http_middleware};
    use gcloud_googleapis::pubsub::v1::publisher_client::PublisherClient;
    use gcloud_storage::client::{Client, ClientConfig};
    use reqwest_middleware::ClientBuilder;
    use tower::ServiceBuilder;

    // Every generated client over the channel: of gcloud-googleapis on tonic 0.14, of google-cloud-googleapis on 0.12.
    let options = GcpOptions::new().account("projects/my-project");
    let channel = ServiceBuilder::new().layer(grpc_layer(options.clone())).service(channel);
    let publisher = PublisherClient::new(channel);

    // gcloud-storage takes an HTTP client.
    let http = ClientBuilder::new(reqwest::Client::new()).with(http_middleware(options)).build();
    let storage = Client::new(ClientConfig { http: Some(http), ..ClientConfig::default() });

    // Any other gRPC service, and any other HTTP API: here each host is a provider of its own.
    let ledger = ServiceBuilder::new()
        .layer(GrpcLayer::new(Scope::new("ledger", "", "", "grpc"), Resilience::new()))
        .service(ledger);
    let http = ClientBuilder::new(reqwest::Client::new()).with(GovernorMiddleware::by_host()).build();

    drop((publisher, storage, ledger, http));
}

#[test]
fn the_clients_shown_compile() {
    let mut source = include_str!("clients.rs").lines().map(str::trim);
    for line in super::block("rust", "GovernorMiddleware::by_host()").lines().map(str::trim) {
        assert!(source.any(|written| written == line), "`{line}` is not in the source, or not in its place");
    }
}
