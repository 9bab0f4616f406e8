//! What one may say about an install, and about one call.

use std::num::NonZeroU32;
use std::sync::Arc;

use azure_core::error::ErrorKind;
use azure_core::http::{ClientOptions, Context, Request, RetryOptions};
use azure_security_keyvault_secrets::{SecretClient, SecretClientOptions};
use cloud_governor::{
    Counts, Governor, Outcome, Priority, RetryPolicy, Scope, configure, get_governor, reset_governor,
};
use cloud_governor_azure::{AzureOptions, CallOptions, build_azure_client, governed};

use crate::common::{Client, Reply, Server, by, credential, governor, request, seconds, service, totals};
use azure_core::http::Method;

#[tokio::test(start_paused = true)]
async fn a_calls_own_policy_and_scope_hold_for_it() {
    let server = Server::always(Reply::new(503, ""));
    let governor = governor(|azure| azure);
    let client = Client::governed(&server, &governor);
    let scope = Scope::new("azure", "elsewhere", "", "own");
    let policy = RetryPolicy::builder().max_retries(1).build().expect("sound");
    client.get_with(CallOptions::new().policy(policy).scope(scope.clone())).await.expect_err("down");
    assert_eq!(server.count(), 2);
    assert!(governor.inspect(&scope).is_some());
    assert!(governor.inspect(&Scope::new("azure", "acct", "", "storage.blob")).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_call_of_high_priority_goes_before_those_that_wait() {
    let server = Server::always(Reply::ok());
    let governor = governor(|azure| azure.max_rps(1.0).burst(1.0));
    let client = Client::governed(&server, &governor);
    client.get().await.expect("the one token");
    let order = std::sync::Mutex::new(Vec::new());
    let call = async |name: &'static str, options: CallOptions| {
        client.get_with(options).await.expect("an answer");
        order.lock().expect("no panic before").push(name);
    };
    tokio::join!(
        call("low", CallOptions::new().priority(Priority::Low)),
        call("normal", CallOptions::new()),
        call("high", CallOptions::new().priority(Priority::High)),
    );
    assert_eq!(*order.lock().expect("no panic before"), ["high", "normal", "low"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_costs_what_its_options_say_where_units_are_counted() {
    let server = Server::always(Reply::ok());
    let governor = governor(|azure| azure.max_rps(0.001).burst(10.0).floor_rps(0.001).counts(Counts::Units));
    let client = Client::governed(&server, &governor);
    client.get_with(CallOptions::new().cost(NonZeroU32::new(7).expect("not zero"))).await.expect("an answer");
    let left = service(&governor).tokens;
    assert!((3.0..3.5).contains(&left), "{left}");
}

#[tokio::test(start_paused = true)]
async fn a_disabled_provider_is_called_once_and_counted() {
    let server = Server::script([Reply::new(503, ""), Reply::ok(), Reply::Reset, Reply::Refused]);
    let governor = governor(|azure| azure.enabled(false));
    let client = Client::governed(&server, &governor);
    client.get().await.expect_err("down");
    client.get().await.expect("an answer");
    assert_eq!(*client.get().await.expect_err("broken").kind(), ErrorKind::Io);
    assert_eq!(*client.get().await.expect_err("refused").kind(), ErrorKind::Connection);
    let totals = totals(&governor);
    assert_eq!((server.count(), totals.calls, totals.throttled, totals.transient_errors), (4, 4, 1, 2));
}

#[tokio::test(start_paused = true)]
async fn a_disabled_provider_leaves_the_sdks_own_retry_alone() {
    let server = Server::script([Reply::new(503, ""), Reply::ok()]);
    let governor = governor(|azure| azure.enabled(false));
    let options = governed(server.options(), by(&governor));
    let client = Client::new(ClientOptions { retry: RetryOptions::default(), ..options });
    client.get().await.expect("the second");
    assert_eq!(server.count(), 2);
}

// One test for all that goes by the process-wide governor: tests run side by side.
#[tokio::test(start_paused = true)]
async fn the_process_wide_governor_is_looked_up_at_each_call() {
    let server = Server::always(Reply::ok());
    let client = Client::new(governed(server.options(), AzureOptions::new()));
    let first = reset_governor();
    client.get().await.expect("an answer");
    let second = reset_governor();
    client.get().await.expect("an answer");
    assert_eq!((totals(&first).calls, totals(&second).calls), (1, 1));
    let config = cloud_governor::Config::builder().provider("azure", |azure| azure.max_retries(0)).build();
    configure(config.expect("sound"));
    let down = Server::always(Reply::new(503, ""));
    Client::new(governed(down.options(), AzureOptions::default())).get().await.expect_err("down");
    assert_eq!((down.count(), totals(&get_governor()).gave_up), (1, 1));

    // A client that is built in one call, and charged to the subscription that was named.
    let third = reset_governor();
    let unused = credential(server.options());
    let built = build_azure_client(Arc::clone(&unused), "SUB-42", |given, options| {
        assert!(Arc::ptr_eq(&given, &unused));
        Ok::<_, azure_core::Error>(Client::new(ClientOptions { transport: server.options().transport, ..options }))
    });
    let built = built.expect("built");
    built.send(Context::new(), tenants()).await.expect("an answer");
    assert_eq!(accounts(&third), ["sub-42"]);
    reset_governor();
}

/// A request that names no subscription.
fn tenants() -> Request {
    let url = "https://management.azure.com/tenants?api-version=2022-12-01".parse().expect("a URL");
    Request::new(url, Method::Get)
}

/// The accounts that were called.
fn accounts(governor: &Governor) -> Vec<String> {
    governor.summary().scopes.keys().map(|scope| scope.account().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn calls_whose_url_names_no_account_are_charged_to_the_installs_own() {
    let server = Server::always(Reply::ok());
    let governor = governor(|azure| azure);
    let client = Client::new(governed(server.options(), by(&governor).account("SUB-42")));
    client.send(Context::new(), tenants()).await.expect("an answer");
    assert_eq!(accounts(&governor), ["sub-42"]);
}

#[tokio::test(start_paused = true)]
async fn a_real_client_is_built_and_what_its_builder_returns_is_passed_on() {
    let server = Server::always(Reply::ok());
    let built = build_azure_client(credential(server.options()), "sub", |credential, client_options| {
        SecretClient::new("not a URL", credential, Some(SecretClientOptions { client_options, ..Default::default() }))
    });
    assert!(built.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_policy_with_a_deadline_bounds_the_wait_before_the_first_attempt() {
    let server = Server::always(Reply::ok());
    let governor = governor(|azure| azure.max_rps(0.1).burst(1.0).floor_rps(0.01));
    let client = Client::governed(&server, &governor);
    client.get().await.expect("the one token");
    let policy = RetryPolicy::builder().deadline(seconds(2)).build().expect("sound");
    let context = Context::new().with_value(CallOptions::new().policy(policy));
    let error = client.send(context, request(Method::Get)).await.expect_err("no time");
    let refusal = cloud_governor_azure::refusal(&error).expect("a refusal");
    assert_eq!(refusal.code(), "deadline_exceeded");
    assert_eq!(server.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn calls_by_hand_and_through_a_client_land_in_the_same_leaf() {
    let networks = "https://management.azure.com/subscriptions/ABC/providers/Microsoft.Network/virtualNetworks/v";
    let cases = [
        (Method::Get, networks, "azure/abc/*/network:read"),
        (Method::Put, networks, "azure/abc/*/network:write"),
        (Method::Delete, networks, "azure/abc/*/network:delete"),
        (Method::Get, "https://acct.blob.core.windows.net/c/b", "azure/acct/*/storage.blob"),
        (Method::Get, "https://safe.vault.azure.net/secrets/s", "azure/safe/*/keyvault"),
    ];
    for (method, url, by_hand) in cases {
        let server = Server::always(Reply::ok());
        let governor = governor(|azure| azure);
        let client = Client::governed(&server, &governor);
        client.send(Context::new(), Request::new(url.parse().expect("a URL"), method)).await.expect("an answer");
        let scope: Scope = by_hand.parse().expect("a scope");
        governor.call(&scope).admit().await.expect("admitted").finish(Outcome::Success);
        let scopes = governor.summary().scopes;
        let leaves: Vec<_> = scopes.iter().map(|(scope, totals)| (scope.to_string(), totals.operations)).collect();
        assert_eq!(leaves, [(by_hand.to_owned(), 2)]);
    }
}
