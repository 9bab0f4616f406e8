//! The form of a request.

use std::collections::{BTreeMap, BTreeSet};

use super::Error;

/// The smallest and the largest page that may be asked for.
const PAGE: std::ops::RangeInclusive<u32> = 5..=1000;

/// What a listing is asked for.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) ids: Vec<String>,
    vpcs: Option<BTreeSet<String>>,
    /// Without a bound where none is given: EC2 then answers with everything.
    pub(super) page_size: u32,
    paged: bool,
    pub(super) next_token: Option<String>,
}

/// `Filter.<n>.Name` and `Filter.<n>.Value.<m>`.
#[derive(Debug, Default)]
struct Filter {
    name: Option<String>,
    values: BTreeSet<String>,
}

/// Whether a request names nothing but its action: EC2 throttles those apart.
pub(in crate::sim::aws) fn asks_for_everything(body: &[u8]) -> bool {
    form_urlencoded::parse(body).all(|(name, _)| matches!(name.as_ref(), "Action" | "Version"))
}

impl Request {
    /// Reads a form. A parameter or a filter that the simulation does not know is refused rather than passed over, so
    /// that no answer pretends to have been filtered.
    pub(super) fn read(body: &[u8], id: &str, filters: &[&str]) -> Result<Self, Error> {
        let mut request = Request { ids: Vec::new(), vpcs: None, page_size: u32::MAX, paged: false, next_token: None };
        let mut given: BTreeMap<u32, Filter> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for (name, value) in form_urlencoded::parse(body) {
            let value = value.into_owned();
            if !seen.insert(name.clone()) {
                return Err(Error::bad_request(
                    "InvalidQueryParameter",
                    format!("The parameter {name} is given twice"),
                ));
            }
            let mut path = name.split('.');
            let parts = (path.next().unwrap_or_default(), path.next().map(str::parse), path.next(), path.next());
            match parts {
                ("Action" | "Version", None, None, None) => {}
                ("MaxResults", None, None, None) => {
                    request.page_size = page_size(&value)?;
                    request.paged = true;
                }
                ("NextToken", None, None, None) => request.next_token = Some(value),
                ("Filter", Some(Ok(number)), Some("Name"), None) => {
                    given.entry(number).or_default().name = Some(value);
                }
                ("Filter", Some(Ok(number)), Some("Value"), Some(index)) if index.parse::<u32>().is_ok() => {
                    given.entry(number).or_default().values.insert(value);
                }
                (member, Some(Ok(_)), None, None) if member == id => request.ids.push(value),
                _ => {
                    let message = format!("The parameter {name} is not recognized");
                    return Err(Error::bad_request("UnknownParameter", message));
                }
            }
        }
        for (number, filter) in given {
            let name = filter.name.ok_or_else(|| missing(format!("Filter.{number}.Name")))?;
            if !filters.contains(&name.as_str()) {
                return Err(invalid(format!("The filter '{name}' is invalid")));
            }
            if filter.values.is_empty() {
                return Err(missing(format!("Filter.{number}.Value")));
            }
            if filter.values.iter().any(|value| value.contains(['*', '?'])) {
                return Err(invalid("The simulation knows no wildcards".to_owned()));
            }
            // Filters add up: each of them must match. There is only one kind of them.
            match &mut request.vpcs {
                Some(vpcs) => vpcs.retain(|vpc| filter.values.contains(vpc)),
                None => request.vpcs = Some(filter.values),
            }
        }
        Ok(request)
    }

    /// Whether a resource of this VPC, or of none, is asked for.
    pub(super) fn is_in_vpc(&self, vpc: Option<&str>) -> bool {
        self.vpcs.as_ref().is_none_or(|vpcs| vpc.is_some_and(|vpc| vpcs.contains(vpc)))
    }

    /// What the request is about, page apart.
    pub(super) fn selection(&self) -> Vec<&str> {
        let vpcs = self.vpcs.iter().flatten();
        self.ids.iter().chain(vpcs).map(String::as_str).collect()
    }

    /// Some operations take ids or a page size, and not both.
    pub(super) fn ids_or_pages(&self, ids: &str) -> Result<(), Error> {
        if self.ids.is_empty() || !self.paged {
            return Ok(());
        }
        let message = format!("The parameter {ids} cannot be used with the parameter maxResults");
        Err(Error::bad_request("InvalidParameterCombination", message))
    }
}

fn page_size(asked: &str) -> Result<u32, Error> {
    let size = asked.parse().ok().filter(|size| PAGE.contains(size));
    let (least, most) = (PAGE.start(), PAGE.end());
    size.ok_or_else(|| {
        invalid(format!(
            "Value ( {asked} ) for parameter maxResults is invalid. Expecting a value from {least} to {most}."
        ))
    })
}

fn invalid(message: String) -> Error {
    Error::bad_request("InvalidParameterValue", message)
}

fn missing(parameter: String) -> Error {
    Error::bad_request("MissingParameter", format!("The request must contain the parameter {parameter}"))
}
