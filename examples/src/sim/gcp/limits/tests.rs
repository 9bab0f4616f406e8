use super::*;
use std::collections::BTreeSet;

#[test]
fn every_bucket_is_drawn_on_and_has_a_name_of_its_own() {
    let drawn: BTreeSet<_> = Operation::ALL.into_iter().flat_map(buckets).copied().collect();
    assert_eq!(drawn, Bucket::ALL.into_iter().collect());
    let names: BTreeSet<_> = Bucket::ALL.into_iter().map(Bucket::name).collect();
    assert_eq!(names.len(), Bucket::ALL.len());
}

#[test]
fn a_bucket_set_by_the_program_says_so() {
    let limits = Limits::default();
    let limit = limits.quota(Bucket::ListAssets).limit.resized(20.0, 20.0).expect("a possible limit");
    let limits = limits.with("cloudasset.ListAssets", limit).expect("a known bucket");
    assert_eq!(limits.quota(Bucket::ListAssets).limit, limit);
    let table = limits.to_string();
    let row = |text: &str| table.lines().any(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") == text);
    assert!(row("cloudasset.ListAssets 20 and 20/1m set by this program"), "{table}");
    assert!(table.contains("400 and 400/1m            published: "), "{table}");
    assert_eq!(limits.with("cloudasset.nothing", limit), Err(UnknownBucket::new("cloudasset.nothing")));
}

#[test]
fn a_shorter_minute_is_every_minutes_and_no_days() {
    let limits = Limits::default().with_minute(Duration::from_secs(2)).expect("a possible window");
    let period = |bucket| limits.quota(bucket).limit.period();
    assert_eq!(period(Bucket::ComputeLists), Some(Duration::from_secs(2)));
    assert_eq!(period(Bucket::ListAssetsPerDay), Some(DAY));
    assert_eq!(period(Bucket::StorageReads), None);
    assert!(Limits::default().with_minute(Duration::ZERO).is_err());
}

#[test]
fn without_the_organization_no_call_draws_on_its_buckets() {
    let limits = Limits::default().without_organization();
    assert_eq!(limits.quotas().len(), Bucket::ALL.len() - 3);
    assert!(limits.buckets(Operation::ListAssets).eq([Bucket::ListAssets, Bucket::ListAssetsPerDay]));
}
