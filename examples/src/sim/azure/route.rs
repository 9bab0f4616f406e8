//! What a request asks for: its operation, by method and path, and the parts of both that matter.

use hyper::Method;
use hyper::header::HOST;
use hyper::http::request::Parts;

use super::Operation;
use super::wire::Error;

/// Where Resource Manager is, for a request that does not say where it was sent.
const HOME: &str = "management.azure.com";

/// What the simulated Azure reads of a request besides where it lands.
#[derive(Clone, Debug)]
pub struct Ask {
    pub(super) operation: Operation,
    /// The client id of the caller: the one its token was given to, or the one that asks for a token.
    pub(super) caller: String,
    /// The resource group, in lower case; empty where the path names none.
    pub(super) group: String,
    /// The resource, in lower case; empty where the path names none.
    pub(super) resource: String,
    pub(super) link: Link,
}

/// What links to the next page are made from.
#[derive(Clone, Debug, Default)]
pub(super) struct Link {
    host: String,
    path: String,
    version: String,
    pub(super) skip: Option<String>,
}

impl Link {
    /// Reads the query, which has to name the API's version.
    pub(super) fn of(head: &Parts) -> Result<Self, Error> {
        let mut link = Link {
            host: head.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or(HOME).to_owned(),
            path: head.uri.path().to_owned(),
            ..Link::default()
        };
        for (name, value) in form_urlencoded::parse(head.uri.query().unwrap_or_default().as_bytes()) {
            match name.as_ref() {
                "api-version" => link.version = value.into_owned(),
                "$skiptoken" => link.skip = Some(value.into_owned()),
                // Not passed over, so that no answer pretends to have been filtered.
                _ => {
                    let message = format!("The query parameter '{name}' is not supported.");
                    return Err(Error::bad_request("UnsupportedQueryParameter", message));
                }
            }
        }
        if link.version.is_empty() {
            let message = "The api-version query parameter (?api-version=) is required for all requests.";
            return Err(Error::bad_request("MissingApiVersionParameter", message));
        }
        let date = link.version.split_once("-preview").map_or(link.version.as_str(), |(date, _)| date);
        if jiff::civil::Date::strptime("%Y-%m-%d", date).is_err() {
            let message = format!("The api-version '{}' is invalid.", link.version);
            return Err(Error::bad_request("InvalidApiVersionParameter", message));
        }
        Ok(link)
    }

    /// The address of the page that a token stands for.
    pub(super) fn next(&self, token: &str) -> String {
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("api-version", &self.version)
            .append_pair("$skiptoken", token)
            .finish();
        format!("https://{}{}?{query}", self.host, self.path)
    }

    /// The path that was asked for.
    pub(super) fn path(&self) -> &str {
        &self.path
    }
}

/// What method and path say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) operation: Option<Operation>,
    /// The tenant of a request for a token, else the subscription; empty where the path names none.
    pub(super) account: String,
    pub(super) group: String,
    pub(super) resource: String,
}

impl Route {
    /// Paths are as those of Resource Manager, which takes them in any case.
    pub(super) fn of(method: &Method, path: &str) -> Self {
        let path = path.to_ascii_lowercase();
        let segments: Vec<_> = path.trim_matches('/').split('/').collect();
        let (account, rest) = match segments.as_slice() {
            [tenant, "oauth2", "v2.0", "token"] if method == Method::POST => {
                return Route { operation: Some(Operation::Token), account: (*tenant).to_owned(), ..Route::default() };
            }
            ["subscriptions"] if method == Method::GET => {
                return Route { operation: Some(Operation::ListSubscriptions), ..Route::default() };
            }
            ["subscriptions", subscription, rest @ ..] => (*subscription, rest),
            _ => return Route::default(),
        };
        let (group, rest) = match rest {
            ["resourcegroups", group, rest @ ..] => (*group, rest),
            rest => ("", rest),
        };
        let (resource, operation) = match (group, rest) {
            ("", ["resourcegroups"]) => ("", read(method, Operation::ListResourceGroups)),
            ("", ["providers", "microsoft.network", "virtualnetworks"]) => {
                ("", read(method, Operation::ListVirtualNetworks))
            }
            ("", ["providers", "microsoft.compute", "virtualmachines"]) => {
                ("", read(method, Operation::ListVirtualMachines))
            }
            ("", _) => ("", None),
            (_, ["providers", "microsoft.network", "virtualnetworks", network, "subnets"]) => {
                (*network, read(method, Operation::ListSubnets))
            }
            (_, ["providers", "microsoft.compute", "virtualmachines", machine, "instanceview"]) => {
                (*machine, read(method, Operation::InstanceView))
            }
            (_, ["providers", "microsoft.compute", "virtualmachines", machine]) => (*machine, of_machine(method)),
            _ => ("", None),
        };
        Route { operation, account: account.to_owned(), group: group.to_owned(), resource: resource.to_owned() }
    }
}

fn read(method: &Method, operation: Operation) -> Option<Operation> {
    (method == Method::GET).then_some(operation)
}

fn of_machine(method: &Method) -> Option<Operation> {
    Some(match *method {
        Method::GET => Operation::GetVirtualMachine,
        Method::PUT => Operation::PutVirtualMachine,
        Method::PATCH => Operation::UpdateVirtualMachine,
        Method::DELETE => Operation::DeleteVirtualMachine,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    fn link(uri: &str) -> Result<Link, String> {
        let request = Request::get(uri).header(HOST, "management.azure.com").body(()).expect("a request");
        Link::of(&request.into_parts().0).map_err(|error| error.code.to_owned())
    }

    #[test]
    fn paths_are_taken_in_any_case_and_name_their_parts() {
        let route = Route::of(
            &Method::GET,
            "/SUBSCRIPTIONS/AB-1/ResourceGroups/Rg-1/providers/Microsoft.Compute/virtualMachines/Vm/instanceView",
        );
        let expected = Route {
            operation: Some(Operation::InstanceView),
            account: "ab-1".into(),
            group: "rg-1".into(),
            resource: "vm".into(),
        };
        assert_eq!(route, expected);
    }

    #[test]
    fn what_is_not_simulated_is_no_operation() {
        for (method, path) in [
            (Method::GET, "/"),
            (Method::POST, "/subscriptions"),
            (Method::GET, "/subscriptions/s"),
            (Method::PUT, "/subscriptions/s/resourcegroups"),
            (Method::GET, "/subscriptions/s/providers/microsoft.network/publicipaddresses"),
            (Method::GET, "/subscriptions/s/resourcegroups/g/providers/microsoft.compute/virtualmachines"),
            (Method::POST, "/subscriptions/s/resourcegroups/g/providers/microsoft.compute/virtualmachines/vm"),
            (Method::GET, "/t/oauth2/v2.0/token"),
        ] {
            assert_eq!(Route::of(&method, path).operation, None, "{method} {path}");
        }
    }

    #[test]
    fn a_link_leads_back_to_the_same_list() {
        let asked = link("/subscriptions?api-version=2022-12-01&%24skiptoken=a%2Bb").expect("a good query");
        assert_eq!(asked.skip.as_deref(), Some("a+b"));
        let next = asked.next("c&d");
        assert_eq!(next, "https://management.azure.com/subscriptions?api-version=2022-12-01&%24skiptoken=c%26d");
        let again = link(&next).expect("a good query");
        assert_eq!((again.skip.as_deref(), again.next("c&d")), (Some("c&d"), next));
    }

    #[test]
    fn the_version_has_to_be_a_date() {
        assert!(link("/subscriptions?api-version=2024-01-01-preview").is_ok());
        for (query, code) in [
            ("", "MissingApiVersionParameter"),
            ("?api-version=", "MissingApiVersionParameter"),
            ("?api-version=latest", "InvalidApiVersionParameter"),
            ("?api-version=2024-13-01", "InvalidApiVersionParameter"),
            ("?api-version=2024-01-01&$filter=name", "UnsupportedQueryParameter"),
        ] {
            assert_eq!(link(&format!("/subscriptions{query}")).expect_err(query), code);
        }
    }
}
