//! What was tried with a file, for errors: the words that stand behind "cannot".

use std::fmt;

/// What was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// To open the directory that it stands in.
    OpenItsDirectory,
    /// To make that one.
    MakeItsDirectory,
    /// To remove what has its name.
    TakeItsPlace,
    /// To look at what has its name.
    LookAtWhatIsThere,
    /// To make a directory.
    Make,
    /// To give a directory the name that it has now.
    Rename,
    /// To make a symbolic link.
    MakeLink,
    /// To make a device or a named pipe.
    MakeNode,
    /// To give a file another name.
    Link,
    /// To use its name in a call.
    Name,
    /// To open it.
    Open,
    /// To look at it.
    Look,
    /// To go into a directory.
    GoInto,
    /// To go back to the directory above.
    GoBackInto,
    /// To read it.
    Read,
    /// To read where a link leads.
    ReadLink,
    /// To read a file of patterns in a directory.
    ReadIgnoreFile,
    /// To find out where its data are.
    FindHoles,
    /// To write it.
    Write,
    /// To close it, by which errors of earlier writes come out.
    Close,
    /// To set owner and group.
    SetOwner,
    /// To set its mode.
    SetMode,
    /// To set its times.
    SetTimes,
    /// To set attributes or access control lists: all that is lost are these.
    SetAttributes,
}

impl Operation {
    /// Whether it was about the directory that a file stands in.
    pub fn is_on_the_way(self) -> bool {
        matches!(self, Self::OpenItsDirectory | Self::MakeItsDirectory)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::OpenItsDirectory => "open its directory",
            Self::MakeItsDirectory => "make its directory",
            Self::TakeItsPlace => "take the place of what is there",
            Self::LookAtWhatIsThere => "look at what is there",
            Self::Make => "make it",
            Self::Rename => "rename a directory",
            Self::ReadIgnoreFile => "read a file of patterns in it",
            Self::MakeLink => "make the link",
            Self::MakeNode => "make the node",
            Self::Link => "link it",
            Self::Name => "name it",
            Self::Open => "open it",
            Self::Look => "look at it",
            Self::GoInto => "go into it",
            Self::GoBackInto => "go back into it",
            Self::Read => "read it",
            Self::ReadLink => "read where it leads",
            Self::FindHoles => "look for its holes",
            Self::Write => "write it",
            Self::Close => "close it",
            Self::SetOwner => "set its owner",
            Self::SetMode => "set its mode",
            Self::SetTimes => "set its times",
            Self::SetAttributes => "set its attributes",
        })
    }
}
