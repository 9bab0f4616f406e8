//! `ByHost`: what requests are charged to, and how that is configured.

use cloud_governor::middleware::{ByHost, HttpTarget};
use cloud_governor::{BreakerState, Config, Governor, Scope};
use reqwest::{Method, Request, Url};

use crate::common::*;
use crate::server::{Reply, Server};

fn scope_of(url: &str) -> String {
    ByHost.scope(&Request::new(Method::GET, Url::parse(url).unwrap())).to_string()
}

#[test]
fn a_host_is_a_provider_and_a_port_of_its_own_a_service() {
    for (url, expected) in [
        ("https://api.github.com/user", "api.github.com/*/*/http"),
        ("http://API.GitHub.com:80/user?page=2", "api.github.com/*/*/http"),
        ("https://api.github.com:443/", "api.github.com/*/*/http"),
        ("https://api.github.com:8443/", "api.github.com/*/*/8443"),
        ("http://localhost:8080/x", "localhost/*/*/8080"),
        ("http://127.0.0.1:8080/x", "127.0.0.1/*/*/8080"),
        ("http://[::1]/x", "[::1]/*/*/http"),
        ("https://bücher.example/", "xn--bcher-kva.example/*/*/http"),
        ("https://user:password@api.example.com/secret?key=secret#secret", "api.example.com/*/*/http"),
        ("data:text/plain,secret", "*/*/*/http"),
    ] {
        assert_eq!(scope_of(url), expected, "{url}");
        assert_eq!(scope_of(url).parse::<Scope>().unwrap().to_string(), expected);
    }
}

#[test]
fn a_host_can_be_configured_by_yaml_and_by_the_environment() {
    let yaml = "ratelimit: { api.github.com: { max_rps: 5, services: { '8443': { max_rps: 2 } } }, 127.0.0.1: { max_rps: 3 } }";
    let variable = ("CLOUD_GOVERNOR__API.GITHUB.COM__ACCOUNT_CONCURRENCY", "7");
    let config = Config::builder().yaml(yaml, "test").variables([variable]).build().unwrap();
    let governor = Governor::builder().config(config).build();
    assert_eq!(governor.settings("api.github.com").account_concurrency.get(), 7);
    let ceiling = |url: &str| {
        let scope: Scope = scope_of(url).parse().unwrap();
        drop(governor.call(&scope));
        governor.inspect(&scope).unwrap().ceiling_rps
    };
    assert_eq!(ceiling("https://api.github.com/user"), 5.0);
    assert_eq!(ceiling("https://api.github.com:8443/user"), 2.0);
    assert_eq!(ceiling("http://127.0.0.1/x"), 3.0);
}

#[tokio::test]
async fn one_hosts_trouble_is_not_anothers() {
    let server = Server::start(|asked, _| match asked.uri.host() {
        Some("down.example.com") => Reply::new(500, "no"),
        _ => Reply::ok(),
    });
    let config = Config::from_yaml("ratelimit: { defaults: { max_retries: 0, base_delay: 1ms } }", "test").unwrap();
    let governor = Governor::builder().config(config).build();
    let client = client(&server, &governor);
    for _ in 0..5 {
        assert_eq!(status(&client.get("http://down.example.com/").send().await), 500);
    }
    client.get("http://down.example.com/").send().await.unwrap_err();
    assert_eq!(status(&client.get("http://up.example.com/").send().await), 200);
    let breaker = |host| governor.inspect(&Scope::new(host, "", "", "http")).unwrap().breaker;
    assert_eq!((breaker("down.example.com"), breaker("up.example.com")), (BreakerState::Open, BreakerState::Closed));
}
