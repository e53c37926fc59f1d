// Replaces the AWS SDK's event stream code in a function's bundle. The SDK loads it for operations with event
// streams and calls the constructor first. No operation in use has one.

/** As in `@smithy/core/event-streams`. */
export class EventStreamSerde {
  constructor() {
    throw new Error("functions use no operation that has a stream of events");
  }
}
