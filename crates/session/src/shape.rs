//! The shape of an answer on its way to the model: it goes with a call where the server takes it
//! and nothing is lost by it. It stands beside the context, so what was sent before stays as it is.

use waterline_provider::CallError;
use waterline_provider::wire::Shape;

use crate::event::Event;
use crate::live::LiveSession;
use crate::trace;

impl LiveSession {
    /// What the answers to the next calls must be; the model is to be told of it in words too, for
    /// not every server takes it. `insists` says that the model need call no tool any more: then it
    /// is also sent to servers where it would keep it from that.
    pub fn answer_as(&mut self, shape: Option<Shape>, insists: bool) {
        self.wanted.shape = shape;
        self.wanted.insists = insists;
    }

    /// The shape as it goes with the next request, if it does.
    pub(crate) fn sent_shape(&self) -> Option<Shape> {
        let wants_tools = !self.config.tools.is_empty() && !self.wanted.insists;
        let is_taken = self.model().model.takes_shape(wants_tools)
            && !self.wanted.refused.contains(&self.stats_key());
        self.wanted.shape.clone().filter(|_| is_taken)
    }

    /// Whether a call failed for the shape that went with it. Then the model is asked without it
    /// from now on.
    pub(crate) fn gives_up_shape(
        &mut self,
        error: &CallError,
        emit: &mut impl FnMut(Event),
    ) -> bool {
        if self.sent_shape().is_none() || !error.refuses_shape() {
            return false;
        }
        let key = self.stats_key();
        self.wanted.refused.insert(key);
        let model = &self.model().name;
        let text = format!(
            "{model} does not take the form of the answer as a setting, so it is asked for in words: {error}"
        );
        trace::notice(self, &text);
        emit(Event::Notice(text));
        true
    }
}
