import type { Transport } from "#kube/client/transport.ts";

/** Says, where another thread can read it even when this one has died, which cluster's data is being handled. */
export interface Handling {
  /** From now on, until this turn of the event loop is over or another cluster's are handled. */
  begin(index: number): void;
  /** The same transport; what comes of it is handled in that cluster's name. */
  take(transport: Transport, index: number): Transport;
}

const NOBODY = -1;

/** What `createHandling` writes to. */
export function handlingBuffer(): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  Atomics.store(new Int32Array(buffer), 0, NOBODY);
  return buffer;
}

/** The index of the cluster whose data is being handled, or was when the thread ended; undefined where that is not known. */
export function handledIn(buffer: SharedArrayBuffer): number | undefined {
  const index = Atomics.load(new Int32Array(buffer), 0);
  return index === NOBODY ? undefined : index;
}

/** As exact as it is cheap: whoever is called back by what came runs in the same turn of the event loop, as a rule. */
export function createHandling(buffer: SharedArrayBuffer): Handling {
  const handled = new Int32Array(buffer);
  let endsSoon = false;

  function begin(index: number): void {
    Atomics.store(handled, 0, index);
    if (endsSoon) return;
    endsSoon = true;
    setImmediate(() => {
      endsSoon = false;
      Atomics.store(handled, 0, NOBODY);
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
