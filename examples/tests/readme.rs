//! What the README shows has to be true.

use cloud_governor::{Config, RefusalKind};
use cloud_governor_examples::compare::Contender;

#[path = "readme/clients.rs"]
mod clients;

const README: &str = include_str!("../../README.md");

fn block<'a>(language: &str, marker: &str) -> &'a str {
    let fence = format!("```{language}\n");
    README
        .split(fence.as_str())
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .find(|block| block.contains(marker))
        .expect("the README has the block")
}

#[test]
fn the_configuration_shown_is_the_default_one() {
    let shown = Config::from_yaml(block("yaml", "ratelimit:"), "README.md").expect("it is valid");
    assert_eq!(shown, Config::default());
}

#[test]
fn the_exit_codes_shown_are_those_of_the_refusals() {
    let kinds = [
        RefusalKind::CircuitOpen,
        RefusalKind::RuntimeThread,
        RefusalKind::CallEnded,
        RefusalKind::AttemptTimedOut,
        RefusalKind::DeadlineExceeded,
        RefusalKind::RetryBudgetExhausted,
    ];
    for kind in kinds {
        let row = format!("| `{}` | {} |", kind.code(), kind.exit_code());
        assert!(README.contains(&row), "the README lacks {row}");
    }
}

#[test]
fn the_comparison_shown_has_everybody_who_is_compared() {
    for contender in Contender::ALL {
        assert!(README.contains(&format!("\n| {contender}")), "the README lacks {contender}");
        assert!(README.contains(&format!(" {} ", contender.id())), "the README lacks {}", contender.id());
    }
}
