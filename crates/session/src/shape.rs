//! Sends the required shape of an answer with a call, if the server supports it and the model keeps
//! its tools. The shape is not part of the context, so the cached prefix stays the same.

use waterline_provider::CallError;
use waterline_provider::wire::Shape;

use crate::event::Event;
use crate::live::LiveSession;
use crate::notice::Notice;
use crate::trace;

impl LiveSession {
    /// Sets the shape of the next answers. The prompt should ask for it too, because not every
    /// server supports a shape. With `insists`, the model no longer needs its tools, and the shape
    /// is also sent to servers on which it prevents tool calls.
    pub fn answer_as(&mut self, shape: Option<Shape>, insists: bool) {
        self.wanted.shape = shape;
        self.wanted.insists = insists;
    }

    /// Returns the shape for the next request, if it can be sent.
    pub(crate) fn supported_shape(&self) -> Option<Shape> {
        let with_tools = !self.config.tools.is_empty() && !self.wanted.insists;
        let is_supported = self.model().model.takes_shape(with_tools)
            && !self.wanted.refused.contains(&self.stats_key());
        self.wanted.shape.clone().filter(|_| is_supported)
    }

    /// Returns whether a call failed because of its shape. If so, the model is called without it
    /// from now on.
    pub(crate) fn drop_refused_shape(
        &mut self,
        error: &CallError,
        emit: &mut impl FnMut(Event),
    ) -> bool {
        if self.supported_shape().is_none() || !error.refuses_shape() {
            return false;
        }
        let key = self.stats_key();
        self.wanted.refused.insert(key);
        let model = self.model().name.clone();
        let notice = Notice::NoStructuredOutput { model, error: error.clone() };
        trace::notice(self, &notice.to_string());
        emit(Event::Notice(notice));
        true
    }
}
