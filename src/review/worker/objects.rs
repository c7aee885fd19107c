//! The checkout's objects, each looked at by its header before libgit2 makes it.

use git2::{ObjectType, Odb, Oid, Repository};

use super::packs::Packs;
use super::{Answer, Stop, failed};
use crate::review::id::Id;
use crate::review::protocol::Failure;

/// libgit2's objects behind our own look at the packs.
pub(super) struct Objects<'repo> {
    odb: Odb<'repo>,
    packs: Packs,
}

pub(super) fn oid(id: &Id) -> Answer<Oid> {
    Ok(Oid::from_bytes(id)?)
}

impl<'repo> Objects<'repo> {
    pub(super) fn new(repository: &'repo Repository) -> Answer<Self> {
        Ok(Self {
            odb: repository.odb()?,
            packs: Packs::open(repository.path()),
        })
    }

    /// Where what is written goes.
    pub(super) fn odb(&self) -> &Odb<'repo> {
        &self.odb
    }

    /// Whether libgit2 may read it, from whichever pack.
    fn check(&self, id: Oid) -> Answer {
        let Ok(bytes) = id.as_bytes().try_into() else {
            return failed(Failure::Protocol, "an id is not 20 bytes");
        };
        self.packs
            .check(bytes)
            .map_err(|fault| Stop::Failed(fault.failure(), fault.to_string()))
    }

    /// An object's size and kind; a failure says it as if the id stood before.
    pub(super) fn header(&self, id: Oid) -> Answer<(usize, ObjectType)> {
        self.check(id)?;
        self.odb
            .read_header(id)
            .map_err(|error| match Stop::from(error) {
                Stop::Failed(Failure::Missing, _) => {
                    Stop::Failed(Failure::Missing, "is not in the archive".into())
                }
                Stop::Failed(why, message) => {
                    Stop::Failed(why, format!("cannot be read: {message}"))
                }
                gone => gone,
            })
    }

    /// An object's bytes, its header read first.
    pub(super) fn read(&self, id: Oid, kind: ObjectType, limit: usize) -> Answer<Vec<u8>> {
        let (size, found) = self.header(id).map_err(|stop| match stop {
            Stop::Failed(why, message) => Stop::Failed(why, format!("{id} {message}")),
            gone => gone,
        })?;
        if found != kind {
            return failed(
                Failure::Damaged,
                format!("{id} is a {}, not a {}", found.str(), kind.str()),
            );
        }
        if size > limit {
            return failed(
                Failure::Limit,
                format!("{} {id} is over its limit", kind.str()),
            );
        }
        let object = self.odb.read(id)?;
        if object.len() != size {
            return failed(
                Failure::Damaged,
                format!("{id} is not as long as its header says"),
            );
        }
        Ok(object.data().to_vec())
    }
}
