import type { Transport } from "#kube/client/transport.ts";

/** Records which cluster's data a thread handles, readable by other threads even after this one died. */
export interface Handling {
  /** Sets the cluster until the current turn of the event loop ends or another cluster is set. */
  begin(index: number): void;
  /** Returns the transport so that its callbacks are attributed to the cluster. */
  take(transport: Transport, index: number): Transport;
}

const NO_CLUSTER = -1;

/** Creates the buffer that `createHandling` writes to. */
export function createHandlingBuffer(): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  Atomics.store(new Int32Array(buffer), 0, NO_CLUSTER);
  return buffer;
}

/**
 * Returns the index of the cluster whose data the thread handles, or handled when it died; undefined if
 * unknown.
 */
export function readHandled(buffer: SharedArrayBuffer): number | undefined {
  const index = Atomics.load(new Int32Array(buffer), 0);
  return index === NO_CLUSTER ? undefined : index;
}

/**
 * Creates the recorder. Its accuracy is cheap: callbacks for received data usually run in the same turn of
 * the event loop.
 */
export function createHandling(buffer: SharedArrayBuffer): Handling {
  const handled = new Int32Array(buffer);
  let endsSoon = false;

  function begin(index: number): void {
    Atomics.store(handled, 0, index);
    if (endsSoon) return;
    endsSoon = true;
    setImmediate(() => {
      endsSoon = false;
      Atomics.store(handled, 0, NO_CLUSTER);
    });
  }

  async function* pieces(body: AsyncIterable<Uint8Array>, index: number): AsyncGenerator<Uint8Array> {
    for await (const piece of body) {
      begin(index);
      yield piece;
    }
  }

  return {
    begin,
    take: (transport, index) => ({
      close: () => transport.close(),
      async send(request) {
        const answer = await transport.send(request);
        begin(index);
        return answer;
      },
      async stream(request) {
        const stream = await transport.stream(request);
        begin(index);
        return { ...stream, body: pieces(stream.body, index), close: (how) => stream.close(how) };
      },
    }),
  };
}
