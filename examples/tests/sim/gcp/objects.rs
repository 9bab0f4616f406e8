//! Objects and their reads.

use super::{Site, Told, size, start, start_with};
use cloud_governor_examples::sim::gcp::{FleetSize, Limits, StorageBucket, Telling};
use google_cloud_gax::Result;
use google_cloud_storage::client::Storage;
use google_cloud_storage::model_ext::ReadRange;

impl Site {
    fn bucket(&self) -> &StorageBucket {
        &self.project(1).buckets[0]
    }
}

fn named(bucket: &StorageBucket) -> String {
    format!("projects/_/buckets/{}", bucket.name)
}

/// All bytes of an object, whose checksum the client compares.
async fn read(client: &Storage, bucket: &StorageBucket, object: &str) -> Result<Vec<u8>> {
    let mut response = client.read_object(named(bucket), object).send().await?;
    let mut content = Vec::new();
    while let Some(chunk) = response.next().await {
        content.extend_from_slice(&chunk?);
    }
    Ok(content)
}

#[tokio::test(start_paused = true)]
async fn every_object_is_read_whole_and_its_checksum_is_right() {
    let site = start(Limits::default()).await;
    let client = site.storage().await;
    let bucket = site.bucket();
    for index in 0..bucket.objects {
        let response = client.read_object(named(bucket), bucket.object(index)).send().await.expect("an answer");
        let object = response.object();
        let content = bucket.content(index);
        assert_eq!(object.size as usize, content.len());
        assert!(object.checksums.is_some_and(|checksums| checksums.crc32c.is_some()));
        assert_eq!(read(&client, bucket, &bucket.object(index)).await.expect("an answer"), content);
    }
    let reads = u64::from(bucket.objects) * 2;
    assert_eq!(site.by_account("objects.get"), [(site.parent(1), (reads, 0))].into());
}

#[tokio::test(start_paused = true)]
async fn an_object_of_no_bytes_is_read_too() {
    let site = start_with(Limits::default(), &FleetSize { object_bytes: 0..=0, ..size() }, Telling::default()).await;
    let content = read(&site.storage().await, site.bucket(), &site.bucket().object(0)).await;
    assert_eq!(content.expect("an answer"), b"");
}

#[tokio::test(start_paused = true)]
async fn a_part_of_an_object_is_that_part() {
    let site =
        start_with(Limits::default(), &FleetSize { object_bytes: 100..=100, ..size() }, Telling::default()).await;
    let (client, bucket) = (site.storage().await, site.bucket());
    let whole = bucket.content(1);
    for (range, expected) in [
        (ReadRange::segment(10, 20), &whole[10..30]),
        (ReadRange::offset(90), &whole[90..]),
        (ReadRange::tail(5), &whole[95..]),
        (ReadRange::segment(90, 50), &whole[90..]),
    ] {
        let request = client.read_object(named(bucket), bucket.object(1)).set_read_range(range);
        let mut response = request.send().await.expect("an answer");
        let mut content = Vec::new();
        while let Some(chunk) = response.next().await {
            content.extend_from_slice(&chunk.expect("bytes"));
        }
        assert_eq!(content, expected);
    }
    let beyond = client.read_object(named(bucket), bucket.object(1)).set_read_range(ReadRange::offset(100));
    let told = Told::by(&beyond.send().await.map(drop).expect_err("nothing is there"));
    assert_eq!((told.http, told.reason.as_str()), (Some(416), "requestedRangeNotSatisfiable"));
}

#[tokio::test(start_paused = true)]
async fn a_read_that_is_cut_goes_on_where_it_stopped() {
    let site =
        start_with(Limits::default(), &FleetSize { object_bytes: 4096..=4096, ..size() }, Telling::default()).await;
    site.server.faults().add("cut=1/2".parse().expect("a fault"));
    let (client, bucket) = (site.storage().await, site.bucket());
    for index in 0..3 {
        assert_eq!(read(&client, bucket, &bucket.object(index)).await.expect("all bytes"), bucket.content(index));
    }
    let counts = site.counts("storage.objects.get");
    assert_eq!((counts.requests, counts.answered, counts.faulted), (5, 3, 2));
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_read_says_why_each_time() {
    let size = FleetSize { objects: 3..=3, forbidden_objects: 1, broken_objects: 1, ..size() };
    let site = start_with(Limits::default(), &size, Telling::default()).await;
    let (client, bucket) = (site.storage().await, site.bucket());
    read(&client, bucket, &bucket.object(0)).await.expect("a good one");
    for _ in 0..2 {
        let told = Told::by(&read(&client, bucket, &bucket.object(1)).await.expect_err("forbidden"));
        assert_eq!((told.http, told.reason.as_str()), (Some(403), "forbidden"));
        let told = Told::by(&read(&client, bucket, &bucket.object(2)).await.expect_err("broken"));
        assert_eq!((told.http, told.reason.as_str()), (Some(503), "backendError"));
        let error = read(&client, bucket, &bucket.object(3)).await.expect_err("missing");
        assert_eq!(error.http_status_code(), Some(404));
        assert!(error.status().is_none(), "downloads have no envelope around it");
        let message = format!("No such object: {}/{}", bucket.name, bucket.object(3));
        assert_eq!(error.http_payload().map(|body| body.as_ref()), Some(message.as_bytes()));
    }
    let counts = site.counts("storage.objects.get");
    assert_eq!((counts.answered, counts.refused), (1, 6));
}

#[tokio::test(start_paused = true)]
async fn a_script_fails_some_reads_and_spares_the_rest() {
    let site = start(Limits::default()).await;
    site.server.faults().add("fail=429*1/3:service=storage".parse().expect("a fault"));
    let (client, bucket) = (site.storage().await, site.bucket());
    let mut statuses = Vec::new();
    for _ in 0..6 {
        let error = read(&client, bucket, &bucket.object(0)).await.err();
        statuses.push(error.and_then(|error| error.http_status_code()));
    }
    assert_eq!(statuses, [None, None, Some(429), None, None, Some(429)]);
    assert_eq!(site.counts("storage.objects.get").faulted, 2);
}
