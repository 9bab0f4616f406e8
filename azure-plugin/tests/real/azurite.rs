//! Azurite, an implementation of Azure's storage that is none of ours.
//!
//! `AZURITE=path/to/azurite cargo test -p cloud-governor-azure --test real azurite -- --ignored`

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, TcpListener};
use std::num::NonZeroUsize;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use azure_core::http::{RequestContent, Url};
use azure_storage_blob::BlobContainerClient;
use azure_storage_blob::models::{BlobClientUploadOptions, BlobContainerClientListBlobsOptions};
use azure_storage_queue::models::{QueueClientReceiveMessagesOptions, QueueMessage};
use cloud_governor::{Governor, Scope};
use cloud_governor_azure::{HostRule, governed};
use futures_util::TryStreamExt;
use std::num::NonZero;

use crate::common::{by, container, governor, inspect, queue, totals};

const ACCOUNT: &str = "devstoreaccount1";
/// An account signature until the end of 2099, by the key that every Azurite has.
const SIGNATURE: &str = "sv=2021-12-02&ss=bq&srt=sco&sp=rwdlacup&se=2099-12-31T00:00:00Z&spr=https,http\
    &sig=L9J2pL1BsXdadYxQnUrlR2dwZYBzqGDyWiFS1QySL%2FA%3D";
const BLOBS: usize = 200;
const MESSAGES: usize = 40;

/// An Azurite of the test's own, which ends with it.
struct Azurite {
    process: Child,
    blob: u16,
    queue: u16,
}

impl Azurite {
    fn start() -> Self {
        let program = std::env::var("AZURITE").expect("AZURITE names Azurite's program");
        let listeners = [(); 3].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port"));
        let [blob, queue, table] = listeners.map(|free| free.local_addr().expect("an address").port());
        let process = Command::new(program)
            .args(["--silent", "--inMemoryPersistence", "--disableTelemetry", "--skipApiVersionCheck"])
            .args(["--blobPort", &blob.to_string(), "--queuePort", &queue.to_string()])
            .args(["--tablePort", &table.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("Azurite starts");
        let azurite = Azurite { process, blob, queue };
        let patience = Instant::now() + Duration::from_secs(60);
        for port in [blob, queue] {
            while std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
                assert!(Instant::now() < patience, "Azurite does not listen");
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        azurite
    }

    fn url(port: u16, path: &str) -> Url {
        Url::parse(&format!("http://127.0.0.1:{port}/{ACCOUNT}/{path}?{SIGNATURE}")).expect("a URL")
    }
}

impl Drop for Azurite {
    fn drop(&mut self) {
        // It has nothing to lose, and the test has nobody to tell.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn content(number: usize) -> Vec<u8> {
    (0..100 + number * 10).map(|place| (place * 7 + number) as u8).collect()
}

fn name(number: usize) -> String {
    format!("blob-{number:03}")
}

/// Does this with every number at once, and fails with the first that fails.
async fn each<F: Future<Output = azure_core::Result<()>> + Send + 'static>(count: usize, work: impl Fn(usize) -> F) {
    let all: Vec<_> = (0..count).map(|number| tokio::spawn(work(number))).collect();
    for (number, one) in all.into_iter().enumerate() {
        one.await.expect("no panic").unwrap_or_else(|error| panic!("{number}: {error:?}"));
    }
}

async fn names(container: &BlobContainerClient) -> BTreeSet<String> {
    let options = BlobContainerClientListBlobsOptions { maxresults: Some(64), ..Default::default() };
    let listed: Vec<_> = container.list_blobs(Some(options)).expect("a list").try_collect().await.expect("a list");
    listed.into_iter().filter_map(|blob| blob.name).collect()
}

fn few_slots() -> Governor {
    governor(|azure| azure.account_concurrency(NonZeroUsize::new(8).expect("some")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Azurite: AZURITE names its program"]
async fn two_hundred_blobs_go_through_another_implementation_and_none_is_lost() {
    let azurite = Azurite::start();
    let governor = few_slots();
    let options = governed(Default::default(), by(&governor));
    let container = Arc::new(container(Azurite::url(azurite.blob, "container"), options));
    container.create(None).await.expect("a container");

    let client = &container;
    each(BLOBS, |number| {
        let blob = client.blob_client(&name(number));
        // Half of them in blocks.
        let partition_size = if number % 2 == 0 { NonZero::new(512) } else { None };
        let options = BlobClientUploadOptions { partition_size, ..Default::default() };
        async move { blob.upload(RequestContent::from(content(number)), Some(options)).await.map(drop) }
    })
    .await;
    assert_eq!(names(&container).await, (0..BLOBS).map(name).collect());
    each(BLOBS, |number| {
        let blob = client.blob_client(&name(number));
        async move {
            assert_eq!(blob.download(None).await?.body.collect().await?, content(number));
            Ok(())
        }
    })
    .await;
    each(BLOBS, |number| {
        let blob = client.blob_client(&name(number));
        async move { blob.delete(None).await.map(drop) }
    })
    .await;
    assert_eq!(names(&container).await, BTreeSet::new());

    let totals = totals(&governor);
    assert!(totals.calls > 3 * BLOBS as u64, "{totals:?}");
    assert_eq!((totals.gave_up, totals.rejected, totals.throttled), (0, 0, 0), "{totals:?}");
    let scopes: Vec<_> = governor.summary().scopes.into_keys().collect();
    assert_eq!(scopes, [Scope::new("azure", ACCOUNT, "", "storage.blob")]);
    let leaf = inspect(&governor, ACCOUNT, "storage.blob");
    assert_eq!((leaf.scope.to_string().as_str(), leaf.slots_in_use), ("azure/devstoreaccount1/*/storage.blob", 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Azurite: AZURITE names its program"]
async fn messages_go_through_another_implementation_and_none_is_lost() {
    let azurite = Azurite::start();
    let governor = few_slots();
    // A port that nobody knows: the rule says what it serves.
    let rule = HostRule::account_in_path(format!("127.0.0.1:{}", azurite.queue), "storage.queue").expect("a rule");
    let options = governed(Default::default(), by(&governor).host(rule));
    let queue = Arc::new(queue(Azurite::url(azurite.queue, "jobs"), options));
    queue.create(None).await.expect("a queue");
    let client = &queue;
    each(MESSAGES, |number| {
        let queue = Arc::clone(client);
        let message = QueueMessage { message_text: Some(number.to_string()) };
        async move { queue.send_message(message.try_into()?, None).await.map(drop) }
    })
    .await;
    let mut received = BTreeSet::new();
    while received.len() < MESSAGES {
        let options = QueueClientReceiveMessagesOptions { number_of_messages: Some(32), ..Default::default() };
        let messages = queue.receive_messages(Some(options)).await.expect("messages").into_model().expect("XML");
        let messages = messages.items.unwrap_or_default();
        assert!(!messages.is_empty(), "{} of {MESSAGES} came", received.len());
        for message in messages {
            let text = message.message_text.expect("a text");
            assert!(received.insert(text), "twice");
            let (id, receipt) = (message.message_id.expect("an id"), message.pop_receipt.expect("a receipt"));
            queue.delete_message(&id, &receipt, None).await.map(drop).expect("deleted");
        }
    }
    assert_eq!(received, (0..MESSAGES).map(|number| number.to_string()).collect());
    let totals = totals(&governor);
    assert_eq!((totals.gave_up, totals.retries), (0, 0), "{totals:?}");
    let scopes: Vec<_> = governor.summary().scopes.into_keys().map(|scope| scope.to_string()).collect();
    assert_eq!(scopes, ["azure/devstoreaccount1/*/storage.queue"]);
}
