// What a function's bundle has in place of the part of the AWS SDK that reads and writes streams of events. The SDK loads it for an
// operation whose input or output is such a stream, and calls the constructor first; no operation in use has one.

/** As in `@smithy/core/event-streams`. */
export class EventStreamSerde {
  constructor() {
    throw new Error("functions use no operation that has a stream of events");
  }
}
