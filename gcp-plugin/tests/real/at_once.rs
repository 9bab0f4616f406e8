//! Many calls at once, of several services, projects and operations, some of which fail: each attempt is counted where the
//! server saw it go.

mod ledger;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;
use std::time::Duration;

use cloud_governor::{Governor, Scope};
use cloud_governor_gcp::{CallOptions, GcpOptions, call};
use futures_util::future::join_all;
use google_cloud_asset_v1::client::AssetService;
use google_cloud_compute_v1::client::Instances;
use google_cloud_gax::error::Error;
use google_cloud_storage::client::{Storage, StorageControl};

use crate::common::{Key, assets_as, by, control, governor, instances, is_at_rest, storage, totals};
use crate::server::Server;
use ledger::{Counts, Ledger, start};

const CALLS: usize = 400;

type Answer = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

// ===== the clients =====

#[derive(Clone)]
struct Clients {
    assets: [AssetService; 2],
    instances: Instances,
    storage: Storage,
    control: StorageControl,
}

async fn clients(server: &Server, options: &GcpOptions) -> Clients {
    let ours = |project| assets_as(server, Key::charging(project), options.clone());
    Clients {
        assets: [ours("payer1").await, ours("payer2").await],
        instances: instances(server, options.clone()).await,
        storage: storage(server, options.clone()).await,
        control: control(server, options.clone()).await,
    }
}

impl Clients {
    fn call(&self, number: usize) -> Answer {
        let Clients { assets, instances, storage, control } = self.clone();
        let (client, size) = (assets[number % 2].clone(), number as i32);
        let project = format!("p{}", number / 8 % 3);
        match number % 8 {
            0 | 1 => {
                let request = client.list_assets().set_parent(format!("projects/{project}")).set_page_size(size);
                Box::pin(async move { request.send().await.map(drop) })
            }
            2 | 3 => {
                let search = client.search_all_resources().set_scope(format!("projects/{project}"));
                Box::pin(async move { search.set_page_size(size).send().await.map(drop) })
            }
            4 => {
                let list = instances.list().set_project(project).set_zone("z").set_max_results(number as u32);
                Box::pin(async move { list.send().await.map(drop) })
            }
            5 => {
                let get = instances.get().set_project(project).set_zone("z").set_instance(format!("i{number}"));
                Box::pin(async move { get.send().await.map(drop) })
            }
            6 => {
                let read = storage.read_object("projects/_/buckets/bucket", format!("o{number}"));
                Box::pin(async move { read.send().await.map(drop) })
            }
            _ => {
                let get = control.get_bucket().set_name(format!("projects/_/buckets/b{number}"));
                Box::pin(async move { get.send().await.map(drop) })
            }
        }
    }
}

/// Each caller has its own answer, and the governor has counted what the server has.
fn check(results: Vec<Result<(), Error>>, ledger: &Mutex<Ledger>, governor: &Governor) {
    check_answers(results);
    let summary = governor.summary().scopes.into_iter();
    let counted: BTreeMap<Scope, Counts> = summary
        .map(|(scope, totals)| {
            let counts = Counts {
                calls: totals.operations,
                attempts: totals.calls,
                throttled: totals.throttled,
                transient: totals.transient_errors,
                retries: totals.retries,
            };
            (scope, counts)
        })
        .collect();
    let ledger = ledger.lock().expect("no panic before");
    assert_eq!(ledger.counts.len(), 2 * 2 + 3 * 2 + 2);
    for (scope, seen) in &ledger.counts {
        assert_eq!(counted.get(scope), Some(seen), "{scope}");
    }
    assert_eq!(counted.len(), ledger.counts.len());
    assert_eq!(totals(governor).gave_up, 0);
    assert!(is_at_rest(governor));
}

fn check_answers(results: Vec<Result<(), Error>>) {
    assert_eq!(results.len(), CALLS);
    for (number, result) in results.into_iter().enumerate() {
        match (number % 11 == 3, result) {
            (true, Err(error)) => {
                let status = error.status().expect("the service's");
                let is_own = number % 8 == 7 || status.message == format!("no {number}.");
                assert!(is_own && status.code.name() == "NOT_FOUND", "call {number}: {error:?}");
            }
            (false, Ok(())) => {}
            (_, result) => panic!("call {number}: {result:?}"),
        }
    }
}

fn ours() -> Governor {
    governor(|gcp| {
        let gcp =
            ["compute", "storage"].into_iter().fold(gcp, |gcp, name| gcp.service(name, |one| one.per_operation(true)));
        gcp.max_retries(5).account_concurrency(20.try_into().expect("some"))
    })
}

const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

async fn joined(inside_one: bool) {
    let (server, ledger) = start();
    let governor = ours();
    // A paused clock leaps while the sockets are busy: no lease may end meanwhile.
    let clients = clients(&server, &by(&governor).lease(YEAR)).await;
    let all = join_all((0..CALLS).map(|number| clients.call(number)));
    let results = if inside_one { call(CallOptions::new(), all).await } else { all.await };
    check(results, &ledger, &governor);
}

#[tokio::test]
async fn calls_joined_in_one_task_are_counted_where_the_server_saw_them() {
    joined(false).await;
}

#[tokio::test(start_paused = true)]
async fn calls_that_all_began_in_the_same_nanosecond_are_counted_where_the_server_saw_them() {
    joined(false).await;
}

#[tokio::test]
async fn calls_joined_inside_one_call_are_counted_where_the_server_saw_them() {
    joined(true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_of_many_tasks_on_many_threads_are_counted_where_the_server_saw_them() {
    for is_wrapped in [false, true] {
        let (server, ledger) = start();
        let governor = ours();
        let clients = clients(&server, &by(&governor)).await;
        let tasks: Vec<_> = (0..CALLS)
            .map(|number| match is_wrapped {
                true => tokio::spawn(call(CallOptions::new(), clients.call(number))),
                false => tokio::spawn(clients.call(number)),
            })
            .collect();
        let results = join_all(tasks).await.into_iter().map(|result| result.expect("no panic"));
        check(results.collect(), &ledger, &governor);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn without_recorders_each_call_still_has_its_own_answer_and_every_attempt_is_counted() {
    for is_joined in [false, true] {
        let (server, ledger) = start();
        let governor = ours();
        let clients = clients(&server, &by(&governor).recorder(false)).await;
        let all = (0..CALLS).map(|number| clients.call(number));
        let results = match is_joined {
            true => join_all(all).await,
            false => {
                join_all(all.map(tokio::spawn)).await.into_iter().map(|result| result.expect("no panic")).collect()
            }
        };
        check_answers(results);
        let totals = totals(&governor);
        let ledger = ledger.lock().expect("no panic before");
        let sum = |of: fn(&Counts) -> u64| ledger.counts.values().map(of).sum::<u64>();
        assert_eq!((totals.operations, totals.calls), (CALLS as u64, sum(|counts| counts.attempts)));
        assert_eq!(
            (totals.throttled, totals.transient_errors),
            (sum(|counts| counts.throttled), sum(|counts| counts.transient))
        );
        assert!(is_at_rest(&governor));
    }
}
