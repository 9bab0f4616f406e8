use super::*;

fn routed(path: &str) -> Option<(Operation, Place)> {
    route(&Method::GET, path)
}

#[test]
fn paths_name_their_operation_and_its_parts() {
    let place = |parent: &str, zone: &str, bucket: &str, name: &str| Place {
        parent: parent.into(),
        zone: zone.into(),
        bucket: bucket.into(),
        name: name.into(),
    };
    for (path, operation, place) in [
        ("/v1/projects/p/assets", Operation::ListAssets, place("projects/p", "", "", "")),
        ("/v1/organizations/7:searchAllResources", Operation::SearchAllResources, place("organizations/7", "", "", "")),
        ("/compute/v1/projects/p/zones/z/instances", Operation::ListInstances, place("projects/p", "z", "", "")),
        (
            "/compute/v1/projects/p/aggregated/instances",
            Operation::AggregatedListInstances,
            place("projects/p", "", "", ""),
        ),
        ("/compute/v1/projects/p/zones/z/instances/vm", Operation::GetInstance, place("projects/p", "z", "", "vm")),
        ("/storage/v1/b/b/o/a%2Fb%20c%2B", Operation::GetObject, place("", "", "b", "a/b c+")),
    ] {
        assert_eq!(routed(path), Some((operation, place)), "{path}");
    }
}

#[test]
fn what_is_not_simulated_is_no_operation() {
    for path in [
        "/",
        "/v1/projects/p",
        "/v1/projects/p/assets/",
        "/v1/projects/p:searchAllIamPolicies",
        "/compute/v1/projects/p/zones",
        "/compute/beta/projects/p/zones/z/instances",
        "/storage/v1/b/b/o",
        "/storage/v1/b/b/o/a/b",
        "/storage/v1/b/b/o/%ff",
    ] {
        assert_eq!(routed(path), None, "{path}");
    }
    assert_eq!(route(&Method::POST, "/v1/projects/p/assets"), None);
}

#[test]
fn a_query_is_read_as_its_operation_knows_it() {
    let query = Query::of(
        Operation::ListAssets,
        "assetTypes=a&assetTypes=b&contentType=1&pageSize=7&pageToken=t&%24alt=json%3Benum-encoding%3Dint",
    );
    let expected = Query {
        asset_types: vec!["a".into(), "b".into()],
        with_resource: true,
        page_size: Some(7),
        page_token: Some("t".into()),
        media: false,
    };
    assert_eq!(query, Ok(expected));
    let first = Query::of(Operation::SearchAllResources, "query=&pageSize=0&pageToken=&orderBy=");
    assert_eq!(first, Ok(Query::default()), "what the client sends that asks for nothing");
    assert_eq!(Query::of(Operation::GetObject, "alt=media").map(|query| query.media), Ok(true));
}

#[test]
fn what_would_change_the_answer_and_is_not_simulated_is_refused() {
    for (operation, query) in [
        (Operation::SearchAllResources, "query=name:vm"),
        (Operation::SearchAllResources, "contentType=1"),
        (Operation::ListAssets, "contentType=2"),
        (Operation::ListAssets, "pageSize=many"),
        (Operation::ListInstances, "filter=status%3DRUNNING"),
        (Operation::ListInstances, "pageSize=1"),
        (Operation::GetObject, "ifGenerationMatch=1"),
    ] {
        let error = Query::of(operation, query).expect_err(query);
        assert_eq!(error.status, 400, "{query}");
    }
}
