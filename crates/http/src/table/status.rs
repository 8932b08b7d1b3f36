//! How the refusals that only this service has look on the wire.

use lazuli_model::table::Refused;

use crate::status::{Status, Subject, denied};

const INVALID: &str = "One of the request inputs is not valid.";

pub fn of(refused: &Refused) -> Status {
    use Refused::*;
    let say = |status: u16, code: &'static str, message: &'static str| Status::new(status, code, message);
    match refused {
        NameLength => {
            say(400, "OutOfRangeInput", "The specified resource name length is not within the permissible limits.")
        }
        TableAlreadyExists => say(409, "TableAlreadyExists", "The table specified already exists."),
        TableNotFound => say(404, "TableNotFound", "The table specified does not exist."),
        EntityAlreadyExists => say(409, "EntityAlreadyExists", "The specified entity already exists."),
        UpdateConditionNotSatisfied => {
            say(412, "UpdateConditionNotSatisfied", "The update condition specified in the request was not satisfied.")
        }
        PropertiesNeedValue => {
            say(400, "PropertiesNeedValue", "The values are not specified for all properties in the entity.")
        }
        PropertyNameInvalid => say(400, "PropertyNameInvalid", "The property name is invalid."),
        PropertyNameTooLong => {
            say(400, "PropertyNameTooLong", "The property name exceeds the maximum allowed length (255).")
        }
        PropertyValueTooLarge => say(
            400,
            "PropertyValueTooLarge",
            "The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 encoded and the maximum number of characters should be 32K or less.",
        ),
        TooManyProperties => say(
            400,
            "TooManyProperties",
            "The entity contains more properties than allowed. Each entity can include up to 252 properties to store data. Each entity also has 3 system properties.",
        ),
        EntityTooLarge => say(400, "EntityTooLarge", "The entity is larger than the maximum allowed size (1MB)."),
        KeyValueTooLarge => say(
            400,
            "KeyValueTooLarge",
            "The value of the PartitionKey or RowKey exceeds the maximum allowed size (1KB).",
        ),
        PrimaryKeyPropertyIsInvalidType => {
            say(400, "PrimaryKeyPropertyIsInvalidType", "The key properties of an entity must be strings.")
        }
        DuplicatePropertiesSpecified => {
            say(400, "DuplicatePropertiesSpecified", "A property is specified more than one time.")
        }
        OutOfRange { name, value } => {
            let shown: String = value.chars().take(256).collect();
            Status::new(400, "OutOfRangeInput", format!("The '{name}' parameter of value '{shown}' is out of range."))
        }
        InvalidInput(message) => Status::new(400, "InvalidInput", message.clone()),
        NotImplemented => {
            say(501, "NotImplemented", "The requested operation is not implemented on the specified resource.")
        }
        InvalidDuplicateRow => say(
            400,
            "InvalidDuplicateRow",
            "The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.",
        ),
        CommandsInBatchActOnDifferentPartitions => say(
            400,
            "CommandsInBatchActOnDifferentPartitions",
            "All commands in a batch must operate on same entity group.",
        ),
        TooManyOperations => {
            say(400, "InvalidInput", "The batch request operation exceeds the maximum 100 changes per change set.")
        }
        InBatch { index, refusal } => {
            let status = denied::of(refusal, Subject::Blob);
            Status { message: format!("{index}:{}", status.message).into(), ..status }
        }
    }
}

/// What the service says of a request that it cannot make sense of, and no more.
pub fn invalid() -> Refused {
    Refused::InvalidInput(INVALID.into())
}
