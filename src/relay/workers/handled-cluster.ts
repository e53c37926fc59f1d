import type { Transport } from "#kube/client/transport.ts";

/** Records which cluster's data a thread handles, readable by other threads even after this one died. */
export interface HandledCluster {
  /** Sets the cluster until the current turn of the event loop ends or another cluster is set. */
  begin(index: number): void;
  /** Wraps a transport so that `begin(index)` is called whenever data of the cluster arrives. */
  wrapTransport(transport: Transport, index: number): Transport;
}

const NO_CLUSTER = -1;

/** Creates the buffer that `createHandledCluster` writes to. */
export function createHandledClusterBuffer(): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  Atomics.store(new Int32Array(buffer), 0, NO_CLUSTER);
  return buffer;
}

/**
 * Returns the index of the cluster whose data the thread handles, or handled when it died; undefined if
 * unknown.
 */
export function readHandledCluster(buffer: SharedArrayBuffer): number | undefined {
  const index = Atomics.load(new Int32Array(buffer), 0);
  return index === NO_CLUSTER ? undefined : index;
}

/**
 * Creates the recorder. It costs one atomic store for each chunk. It is usually right, because the code that
 * handles received data runs in the same turn of the event loop.
 */
export function createHandledCluster(buffer: SharedArrayBuffer): HandledCluster {
  const handled = new Int32Array(buffer);
  let isResetScheduled = false;

  function begin(index: number): void {
    Atomics.store(handled, 0, index);
    if (isResetScheduled) return;
    isResetScheduled = true;
    setImmediate(() => {
      isResetScheduled = false;
      Atomics.store(handled, 0, NO_CLUSTER);
    });
  }

  async function* attributeChunks(
    body: AsyncIterable<Uint8Array>,
    index: number,
  ): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      begin(index);
      yield chunk;
    }
  }

  return {
    begin,
    wrapTransport: (transport, index) => ({
      close: () => transport.close(),
      async send(request) {
        const answer = await transport.send(request);
        begin(index);
        return answer;
      },
      async stream(request) {
        const stream = await transport.stream(request);
        begin(index);
        return { ...stream, body: attributeChunks(stream.body, index), close: (mode) => stream.close(mode) };
      },
    }),
  };
}
