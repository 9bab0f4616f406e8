//! The built-in rules, in the order in which they are tried. The first that fits decides.
//!
//! Sources: AWS: `THROTTLING_ERRORS` and `TRANSIENT_ERRORS` of aws-runtime 1.10 (`retries/classifiers.rs`), and the
//! services' own pages where named. Azure: Microsoft's pages on request limits (Resource Manager, Compute, Graph,
//! Storage error codes). Google: google.aip.dev/194, cloud.google.com/docs/quotas/troubleshoot, google.api.ErrorReason,
//! docs.cloud.google.com/compute/api-quota, docs.cloud.google.com/storage/docs/retry-strategy, and of the older reasons
//! developers.google.com/doubleclick-advertisers/core_errors. GitHub: docs.github.com, "Rate limits for the REST API".

use std::sync::LazyLock;

use super::Class::{Fatal, Locked, Throttled, Transient};
use super::GrpcCode::{
    Aborted, AlreadyExists, DataLoss, DeadlineExceeded, FailedPrecondition, Internal, InvalidArgument, NotFound,
    OutOfRange, PermissionDenied, ResourceExhausted, Unauthenticated, Unavailable, Unimplemented, Unknown,
};
use super::Resend::{IfIdempotent, Safe};
use super::Rule;
use super::Transport::{BodyCutShort, Connect, Io, Timeout};
use super::row::{Row, on};
use super::rules::Untold::{LongBackoff, Minute, NextMinute};

const ALL: Option<&str> = None;
const AWS: Option<&str> = Some("aws");
const AZURE: Option<&str> = Some("azure");
const GCP: Option<&str> = Some("gcp");

/// Words of which each means a rate limit wherever it stands.
const RATE_WORDS: &[&str] = &["rate exceeded", "rate limit exceeded", "too many requests"];
/// Too short to be trusted in a message that refuses a permission, where it may be part of a name.
const THROTTLE_WORD: &[&str] = &["throttl"];
const ANY_THROTTLE_WORD: &[&str] = &["rate exceeded", "rate limit exceeded", "too many requests", "throttl"];

/// Quotas of a day or of an allocation: asking again this hour only spends calls.
const QUOTAS: &[&str] = &[
    "quotaExceeded",
    "QUOTA_EXCEEDED",
    "ResourceQuotaExceeded",
    "RESOURCE_QUOTA_EXCEEDED",
    "dailyLimitExceeded",
    "dailyLimitExceededUnreg",
    "variableTermExpiredDailyExceeded",
];
/// A quota's name (`ListAssetsRequestsPerDayPerOrg`) or unit (`1/d/{project}`).
const DAILY_QUOTA_NAMES: &[&str] = &["perday", "per_day", "per-day", "per day", "daily", "1/d/"];
/// The same of a rate.
const RATE_QUOTA_NAMES: &[&str] = &[
    "perminute",
    "per_minute",
    "per-minute",
    "per minute",
    "1/min/",
    "persecond",
    "per second",
    "per100seconds",
    "per 100 seconds",
];
const DAILY_MESSAGES: &[&str] = &["perday", "per day", "daily limit", "daily quota"];
const UNAVAILABLE: &[&str] = &["ServiceUnavailable", "ServiceUnavailableException"];
/// What Azure's services say when they fail, as against: when they are asked too often.
const AZURE_OUTAGES: &[&str] =
    &["ServiceUnavailable", "ServerTimeout", "GatewayTimeout", "InternalError", "InternalServerError"];
const TRANSACTION_CANCELED: &[&str] = &["TransactionCanceledException"];
const CALLERS_REASONS: &[&str] = &[
    "accessdenied",
    "conditionalcheckfailed",
    "duplicateitem",
    "itemcollectionsizelimitexceeded",
    "transactionconflict",
    "validationerror",
];
const GOOGLE_RATES: &[&str] = &[
    "RATE_LIMIT_EXCEEDED",
    "rateLimitExceeded",
    "rateLimitExceededUnreg",
    "userRateLimitExceeded",
    "userRateLimitExceededUnreg",
    "concurrentLimitExceeded",
];
/// Its quotas come back at the start of the next minute, for everyone's at once (docs.cloud.google.com/compute/api-quota).
const COMPUTE: &[&str] = &["compute"];

#[rustfmt::skip]
const ROWS: &[Row] = &[
    // Nothing was sent, whatever else is known.
    on(ALL).transport(&[Connect]).is(Transient, Safe),

    // ----- quotas that no wait within a run helps -----
    // SES says "Throttling" for its rate and for its daily quota alike.
    on(AWS).code(&["Throttling", "ThrottlingException"]).message(&["daily message quota"]).is(Fatal, IfIdempotent),
    on(GCP).quota(DAILY_QUOTA_NAMES).is(Fatal, IfIdempotent),
    // Before the reasons: some services say `quotaExceeded` of a rate (github.com/googleapis/google-api-python-client/issues/396),
    // and none is said where an error's legacy list is dropped for its details.
    on(GCP).service(COMPUTE).status(&[403, 429]).quota(RATE_QUOTA_NAMES).untold(NextMinute).is(Throttled, Safe),
    on(GCP).status(&[403, 429]).quota(RATE_QUOTA_NAMES).is(Throttled, Safe),
    on(ALL).reason(QUOTAS).is(Fatal, IfIdempotent),
    on(ALL).code(QUOTAS).is(Fatal, IfIdempotent),
    on(GCP).message(DAILY_MESSAGES).status(&[403, 429]).is(Fatal, IfIdempotent),
    on(ALL).message(DAILY_MESSAGES).grpc(&[ResourceExhausted]).is(Fatal, IfIdempotent),

    // ----- AWS codes -----
    // DynamoDB cancels a transaction as a whole, and its message lists a reason for each item ("CancellationReasons", DynamoDB
    // API Reference, TransactWriteItems). A condition or a conflict is the caller's; otherwise a throttle is one.
    on(AWS).code(TRANSACTION_CANCELED).message(CALLERS_REASONS).is(Fatal, IfIdempotent),
    on(AWS).code(TRANSACTION_CANCELED).message(&["throttlingerror", "provisionedthroughputexceeded"]).is(Throttled, Safe),
    on(AWS).code(TRANSACTION_CANCELED).is(Fatal, IfIdempotent),
    on(AWS).code(&[
        "Throttling", "ThrottlingException", "ThrottledException", "RequestThrottledException", "RequestThrottled",
        "TooManyRequestsException", "ProvisionedThroughputExceededException", "ProvisionedThroughputExceeded",
        "TransactionInProgressException", "RequestLimitExceeded", "BandwidthLimitExceeded", "SlowDown",
        "PriorRequestNotComplete", "EC2ThrottledException",
    ]).is(Throttled, Safe),
    // A rate limit for some services, an allocation limit for many: it must say which it is.
    on(AWS).code(&["LimitExceededException"]).status(&[429]).is(Throttled, Safe),
    on(AWS).code(&["LimitExceededException"]).message(ANY_THROTTLE_WORD).is(Throttled, Safe),
    on(AWS).code(&["LimitExceededException", "LimitExceeded", "ServiceQuotaExceededException"]).is(Fatal, IfIdempotent),
    // IDPCommunicationError is a 400 that the STS reference says to retry.
    on(AWS).code(&["RequestTimeout", "RequestTimeoutException", "IDPCommunicationError"]).is(Transient, IfIdempotent),
    // Needed beside the status: S3 answers some operations with 200 and an error in the body.
    on(AWS).code(&["InternalError", "InternalFailure", "InternalServerError", "InternalServerException"])
        .is(Transient, IfIdempotent),
    // S3 says so of a rate, and EC2's shorter code means an overload; of the others it is an outage, which a lower rate
    // would only prolong. The SDKs take it for transient, too.
    on(AWS).code(UNAVAILABLE).message(&["reduce your request rate"]).is(Throttled, Safe),
    on(AWS).code(&["Unavailable"]).is(Throttled, IfIdempotent),
    on(AWS).code(UNAVAILABLE).is(Transient, IfIdempotent),
    // Keys, signatures and clocks are the SDK's to mend; names that a caller chose may hold any word.
    on(AWS).code(&[
        "AccessDenied", "AccessDeniedException", "AuthFailure", "ExpiredToken", "ExpiredTokenException",
        "IncompleteSignature", "InvalidAccessKeyId", "InvalidClientTokenId", "InvalidSignatureException",
        "MissingAuthenticationToken", "OptInRequired", "RequestExpired", "RequestInTheFuture", "RequestTimeTooSkewed",
        "SignatureDoesNotMatch", "UnauthorizedOperation", "UnrecognizedClientException",
        "InvalidParameterException", "InvalidParameterValue", "InvalidParameterCombination", "InvalidRequestException",
        "MissingParameter", "NoSuchBucket", "NoSuchEntity", "NoSuchKey", "ResourceInUseException",
        "ResourceNotFoundException", "ValidationError", "ValidationException",
    ]).is(Fatal, IfIdempotent),

    // ----- Azure codes -----
    // Another operation holds the resource: not a rate, though the status says so.
    on(AZURE).code(&["RetryableErrorDueToAnotherOperation"]).is(Locked, Safe),
    on(AZURE).code(&["RetryableError", "ReferencedResourceNotProvisioned"]).status(&[429]).is(Locked, Safe),
    on(AZURE).code(&[
        "SubscriptionRequestsThrottled", "ResourceRequestsThrottled", "ResourceCollectionRequestsThrottled",
        "activityLimitReached", "RateLimiting", "ServerBusy", "server-busy", "50009",
    ]).is(Throttled, Safe),
    // A partition of the storage account has more to do than it can. It may have been executed.
    on(AZURE).code(&["OperationTimedOut"]).status(&[500]).is(Throttled, IfIdempotent),
    // An outage, which a lower rate would only prolong, unless it asks for one.
    on(AZURE).code(AZURE_OUTAGES).message(ANY_THROTTLE_WORD).status(&[500, 502, 503, 504]).is(Throttled, IfIdempotent),
    on(AZURE).code(AZURE_OUTAGES).status(&[500, 502, 503, 504]).is(Transient, IfIdempotent),
    // The machine's own identity endpoint while it is being updated (Microsoft's page on managed identities for virtual
    // machines, "Retry guidance"). The SDK retries these there too.
    on(AZURE).service(&["imds"]).status(&[404, 410]).is(Transient, IfIdempotent),
    // Compute wraps its rate limits in the code that otherwise means a full core quota.
    on(AZURE).code(&["OperationNotAllowed"]).status(&[429]).is(Throttled, Safe),
    on(AZURE).code(&[
        "OperationNotAllowed", "SkuNotAvailable", "AllocationFailed", "ZonalAllocationFailed", "AccountIsDisabled",
    ]).is(Fatal, IfIdempotent),

    // ----- Google reasons and gRPC -----
    on(GCP).service(COMPUTE).reason(GOOGLE_RATES).untold(NextMinute).is(Throttled, Safe),
    on(GCP).service(COMPUTE).code(GOOGLE_RATES).untold(NextMinute).is(Throttled, Safe),
    on(GCP).service(COMPUTE).status(&[403]).message(&["rate limit exceeded"]).untold(NextMinute).is(Throttled, Safe),
    on(ALL).reason(GOOGLE_RATES).is(Throttled, Safe),
    on(ALL).code(GOOGLE_RATES).is(Throttled, Safe),
    // gRPC libraries use the same status for a message over the size limit.
    on(ALL).grpc(&[ResourceExhausted]).message(&["larger than max"]).is(Fatal, IfIdempotent),
    // Without a reason or a delay it may be a rate, or a quota that is gone until tomorrow.
    on(GCP).status(&[429]).bare().pays_budget().untold(LongBackoff).is(Throttled, Safe),
    on(ALL).grpc(&[ResourceExhausted]).bare().pays_budget().untold(LongBackoff).is(Throttled, IfIdempotent),
    on(ALL).grpc(&[ResourceExhausted]).is(Throttled, Safe),
    // What its own clients send again: the retry policies in google/pubsub/v1/pubsub_grpc_service_config.json of googleapis.
    on(GCP).service(&["pubsub"]).grpc(&[Aborted, Internal, Unknown]).is(Transient, IfIdempotent),
    // An aborted operation is to be begun anew from its first step (google.rpc.Code), which a re-send is not.
    on(ALL).grpc(&[
        InvalidArgument, NotFound, AlreadyExists, FailedPrecondition, Aborted, OutOfRange, Unimplemented, DataLoss,
        Unauthenticated,
    ]).is(Fatal, IfIdempotent),

    // ----- other HTTP APIs -----
    // GitHub refuses with 403 or 429, for its hourly limit with headers and for its secondary ones at times with no more than a
    // message, after which a minute is to be waited at least.
    on(ALL).outside_clouds().status(&[403, 429]).message(&["secondary rate limit"]).untold(Minute).is(Throttled, Safe),
    // A permission that is missing does not come with time.
    on(ALL).outside_clouds().status(&[403]).held_off().is(Throttled, Safe),

    // ----- every provider: codes, messages, statuses -----
    on(ALL).code(&["TooManyRequests"]).is(Throttled, Safe),
    // Before the messages: what was not found, or is in the way, may be called anything.
    on(ALL).status(&[401, 402, 404, 405, 406, 407, 409, 410, 411, 412, 413, 414, 415, 416, 422]).is(Fatal, IfIdempotent),
    on(ALL).message(RATE_WORDS).status(&[400, 403, 420, 429]).is(Throttled, Safe),
    on(ALL).message(RATE_WORDS).is(Throttled, IfIdempotent),
    on(ALL).status(&[403]).is(Fatal, IfIdempotent),
    on(ALL).grpc(&[PermissionDenied]).is(Fatal, IfIdempotent),
    on(ALL).message(THROTTLE_WORD).status(&[400, 420, 429]).is(Throttled, Safe),
    on(ALL).message(THROTTLE_WORD).is(Throttled, IfIdempotent),
    on(ALL).status(&[429]).is(Throttled, Safe),
    on(ALL).grpc(&[Unavailable, DeadlineExceeded]).is(Transient, IfIdempotent),
    on(GCP).service(&["storage"]).grpc(&[Internal]).is(Transient, IfIdempotent),
    on(ALL).status(&[503]).is(Throttled, IfIdempotent),
    on(ALL).status(&[408, 500, 502, 504]).is(Transient, IfIdempotent),
    // Last: a status that came says more than that its body did not.
    on(ALL).transport(&[Timeout, Io, BodyCutShort]).is(Transient, IfIdempotent),
];

static BUILT_IN: LazyLock<Vec<Rule>> = LazyLock::new(|| ROWS.iter().map(Rule::from).collect());

pub(super) fn built_in() -> &'static [Rule] {
    &BUILT_IN
}

/// Not in force unless asked for: a 409 can also mean that the request itself is wrong.
const CONFLICT_LOCKS: Row = on(AZURE)
    .code(&["AnotherOperationInProgress", "ConflictingConcurrentWriteNotAllowed", "StorageAccountOperationInProgress"])
    .status(&[409])
    .is(Locked, Safe);

impl Rule {
    /// Azure's 409 answers that mean that another operation holds the resource, as [`Locked`].
    ///
    /// They are not built in, because a program that meets one may well want to know at once. To retry them:
    ///
    /// ```
    /// use cloud_governor::{Class, Facts, Rule, Rules};
    ///
    /// let rules = Rules::from_iter([Rule::azure_conflict_locks()]);
    /// let facts = Facts::new().provider("azure").code("AnotherOperationInProgress").status(409);
    /// assert_eq!(rules.classify(&facts).class, Class::Locked);
    /// assert_eq!(Rules::new().classify(&facts).class, Class::Fatal);
    /// ```
    ///
    /// [`Locked`]: super::Class::Locked
    pub fn azure_conflict_locks() -> Rule {
        Rule::from(&CONFLICT_LOCKS)
    }
}
