//! Queues.

use crate::client::{Client, start};
use crate::{done, said};
use lazuli_http::Service;

#[tokio::test]
async fn q1_what_names_no_message_is_not_found() {
    let version = "2018-11-09";
    let mut client = Client::to_service(&start(), Service::Queue);
    done(&mut client, version, ("PUT", "/que", &[], "")).await;
    let update = "<QueueMessage><MessageText>x</MessageText></QueueMessage>";
    let table = [
        ("DELETE", "/que/messages/invalid?popreceipt=invalid", ""),
        ("PUT", "/que/messages/invalid?popreceipt=invalid&visibilitytimeout=0", update),
    ];
    for (method, target, body) in table {
        let (status, code, _) = said(&mut client, version, (method, target, &[], body)).await;
        assert_eq!((status, code.as_str()), (404, "MessageNotFound"), "{method}");
    }
}

/// JavaScript writes the largest number that it knows for "never".
#[tokio::test]
async fn a_message_may_live_for_ever_and_longer() {
    let mut client = Client::to_service(&start(), Service::Queue);
    done(&mut client, "2021-12-02", ("PUT", "/que", &[], "")).await;
    let body = "<QueueMessage><MessageText>x</MessageText></QueueMessage>";
    let target = "/que/messages?messagettl=9007199254740991";
    let put = done(&mut client, "2021-12-02", ("POST", target, &[], body)).await;
    assert!(put.text().contains("<ExpirationTime>Fri, 31 Dec 9999 23:59:59 GMT</ExpirationTime>"), "{}", put.text());
}
