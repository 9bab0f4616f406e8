//! `gcs_reader` reads one object of Cloud Storage through Google's own client, governed, and tells by one line, one event
//! and one exit code how that ended.
//!
//! | ending | exit code | event of the governor | event of the program |
//! |---|---|---|---|
//! | the object was read | 0 | | `read` |
//! | the service said no: there is no such object, nobody may read it | 66 | | `answered` |
//! | all attempts failed | 73 | `retries_exhausted` | `gave_up` |
//! | no attempt was answered in time | 74 | `retries_exhausted` | `refused` |
//! | the deadline could not be kept | 75 | `retry_deadline_exceeded` | `gave_up`, or `refused` if nothing was sent |
//! | the deadline passed while an answer was on its way | 75 | | `late` |
//! | the retry budget is empty | 76 | `retry_budget_exhausted` | the same |
//! | the circuit is open | 69 | `circuit_rejected` | the same |
//! | the bytes broke off too often | 65 | | `broken_off` |
//! | anything else, such as no token | 1 | | `failed` |
//! | a command line or a configuration of no use | 2 | | |
//! | Ctrl-C | 130 | | |
//!
//! A read that was refused before anything was sent has the exit code of the
//! [refusal](cloud_governor::RefusalKind::exit_code). One that was sent and gave up has the service's own last error, and
//! [`CallReport::gave_up`](cloud_governor_gcp::CallReport::gave_up) says why there was no further attempt; where there is a
//! refusal for the same reason, the exit code is the same.
//!
//! # What is governed
//! A read is a request, whose answer begins with the headers, and then its bytes. The governor admits the request, and
//! judges and repeats it, until the headers are there: pace, slot, breaker, budget, deadline and number of attempts are about
//! that. The bytes are the client's own business. If they break off, its read-resume policy decides whether to ask for the
//! rest, and that is a request of its own: governed like the first, with attempts of its own. So a service whose answers all
//! break off opens no circuit. The client's recommended policy resumes for ever; here it is bounded ([`RESUMES`]).
//!
//! The governor's deadline is about when an attempt may begin. Other clients of Google's end an attempt that is under way
//! when its time is up; that of Storage hands no time on to its requests, and knows none for the bytes. So the program drops
//! the whole read at the deadline. What it held goes back at once, as it is made inside [`call`](cloud_governor_gcp::call()).

mod app;
mod ending;
mod options;
mod read;

pub use app::main;
pub use ending::{ANSWERED, BROKEN_OFF, EXHAUSTED, Ending};
pub use options::{Args, UsageError};
pub use read::{Object, RESUMES, read};
