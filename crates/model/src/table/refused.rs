//! Every "no" that only the Table service says, named as Azure names it. `http::table` has their words.

use std::borrow::Cow;

use crate::Refusal;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    // Tables
    /// OutOfRangeInput, in the words for names.
    NameLength,
    TableAlreadyExists,
    TableNotFound,

    // Entities
    EntityAlreadyExists,
    UpdateConditionNotSatisfied,
    /// A key is missing.
    PropertiesNeedValue,
    PropertyNameInvalid,
    PropertyNameTooLong,
    PropertyValueTooLarge,
    TooManyProperties,
    EntityTooLarge,
    KeyValueTooLarge,
    /// A key that is no string.
    PrimaryKeyPropertyIsInvalidType,
    DuplicatePropertiesSpecified,
    /// OutOfRangeInput about a key with a character that keys cannot have, or a date that is too early.
    OutOfRange {
        name: String,
        value: String,
    },

    // Requests
    /// 400 InvalidInput, with its own message.
    InvalidInput(Cow<'static, str>),
    /// 501: a query option or function that Azure does not have either.
    NotImplemented,

    // Entity group transactions
    InvalidDuplicateRow,
    CommandsInBatchActOnDifferentPartitions,
    TooManyOperations,
    /// The operation at `index` was refused, and so was the whole.
    InBatch {
        index: usize,
        refusal: Box<Refusal>,
    },
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Self {
        Refusal::Table(refused)
    }
}

impl Refused {
    /// What the service says about a value that it cannot make sense of (observed).
    pub fn unreadable() -> Self {
        Refused::InvalidInput("An error occurred while processing this request.".into())
    }
}
