use super::*;

fn leaf(account: &str, service: &str) -> Leaf {
    Leaf { account: account.into(), region: "eu-west-1".into(), service: service.into(), operation: "Get".into() }
}

fn armed(texts: &[&str]) -> Faults {
    let faults = Faults::new(7);
    for text in texts {
        faults.add(text.parse().expect("a fault"));
    }
    faults
}

#[test]
fn the_text_form_round_trips() {
    for text in [
        "down",
        "down@5s+10s",
        "brownout=0.2@3s",
        "fail=429",
        "fail=503*0.5@1s:operation=ListAssets",
        "fail=404*1/7",
        "slow=200ms:service=ssm",
        "cut=1/20@1s+2s:account=111122223333,region=eu-west-1,service=logs,operation=DescribeLogGroups",
    ] {
        let fault: Fault = text.parse().expect(text);
        assert_eq!(fault.to_string(), text);
    }
}

#[test]
fn text_that_means_nothing_is_refused_with_its_place() {
    let cases = [
        ("explode", FaultError::Kind("explode".into())),
        ("", FaultError::Kind(String::new())),
        ("down=1", FaultError::Value("down")),
        ("brownout", FaultError::NoValue("brownout")),
        ("brownout=0", FaultError::Share("0".into())),
        ("brownout=1.5", FaultError::Share("1.5".into())),
        ("brownout=NaN", FaultError::Share("NaN".into())),
        ("fail", FaultError::NoValue("fail")),
        ("fail=often", FaultError::Status("often".into())),
        ("fail=200", FaultError::Status("200".into())),
        ("fail=600", FaultError::Status("600".into())),
        ("fail=503*2", FaultError::Share("2".into())),
        ("cut=1/0", FaultError::Share("1/0".into())),
        ("slow=fast", FaultError::Time("fast".into())),
        ("down@+5s", FaultError::Time(String::new())),
        ("down@5s+soon", FaultError::Time("soon".into())),
        ("down:colour=red", FaultError::Filter("colour=red".into())),
        ("down:service=a,service=b", FaultError::Filter("service=b".into())),
        ("down:", FaultError::Filter(String::new())),
    ];
    for (text, error) in cases {
        assert_eq!(text.parse::<Fault>(), Err(error), "{text}");
    }
}

#[test]
fn a_fault_strikes_inside_its_window_only() {
    let faults = armed(&["down@5s+10s"]);
    let down = |at: u64| faults.decide(Duration::from_millis(at), None).down;
    assert!(!down(4_999));
    assert!(down(5_000));
    assert!(down(14_999));
    assert!(!down(15_000));
}

#[test]
fn a_filter_spares_the_calls_it_does_not_name() {
    let faults = armed(&["down:account=1,service=ssm"]);
    assert!(faults.decide(Duration::ZERO, Some(&leaf("1", "ssm"))).down);
    assert!(!faults.decide(Duration::ZERO, Some(&leaf("2", "ssm"))).down);
    assert!(!faults.decide(Duration::ZERO, Some(&leaf("1", "logs"))).down);
    assert!(!faults.decide(Duration::ZERO, None).down, "a request without a leaf matches no filter");
}

#[test]
fn every_nth_counts_only_the_calls_it_is_about() {
    let faults = armed(&["cut=1/3:service=ssm"]);
    let mut cuts = Vec::new();
    for n in 1..=9 {
        faults.decide(Duration::ZERO, Some(&leaf("1", "logs")));
        if faults.decide(Duration::ZERO, Some(&leaf("1", "ssm"))).cut {
            cuts.push(n);
        }
    }
    assert_eq!(cuts, [3, 6, 9]);
}

#[test]
fn a_brownout_fails_about_its_share_with_both_statuses() {
    let faults = armed(&["brownout=0.2"]);
    let failures: Vec<_> = (0..10_000).filter_map(|_| faults.decide(Duration::ZERO, None).failure).collect();
    assert!((1_800..2_200).contains(&failures.len()), "{}", failures.len());
    for status in [StatusCode::INTERNAL_SERVER_ERROR, StatusCode::SERVICE_UNAVAILABLE] {
        assert!(failures.iter().filter(|failure| **failure == status).count() > 800, "{status}");
    }
}

#[test]
fn a_named_failure_is_that_one_and_no_other() {
    let faults = armed(&["fail=429*1/2"]);
    let failures: Vec<_> = (0..4).map(|_| faults.decide(Duration::ZERO, None).failure).collect();
    let struck = Some(StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(failures, [None, struck, None, struck]);
}

#[test]
fn the_same_seed_fails_the_same_calls() {
    let run = || {
        let faults = armed(&["brownout=0.5", "cut=0.3"]);
        (0..100).map(|_| faults.decide(Duration::ZERO, None)).collect::<Vec<_>>()
    };
    assert_eq!(run(), run());
}

#[test]
fn delays_add_up_and_clear_takes_all_away() {
    let faults = armed(&["slow=200ms", "slow=50ms"]);
    assert_eq!(faults.decide(Duration::ZERO, None).delay, Duration::from_millis(250));
    faults.clear();
    assert_eq!(faults.decide(Duration::ZERO, None), Fate::default());
}
