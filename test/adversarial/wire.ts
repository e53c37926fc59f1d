import { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { createFrameRewriter } from "#test/adversarial/frames.ts";
import type { Pace } from "#test/adversarial/pace.ts";

/** The controls of one connection below HTTP/2. */
export interface Wire {
  /** The stream of the HTTP/2 server. */
  readonly duplex: Duplex;
  /** From now on cuts DATA frames into frames of one byte, or leaves them unchanged. */
  setOneByteFrames(on: boolean): void;
  /** Sends raw frames, unless another one is half sent; resolves once they are on their way. */
  inject(frames: Buffer): Promise<void>;
}

/** Puts a rewriter of frames and a pace between a socket and an HTTP/2 server. */
export function createWire(socket: TLSSocket, pace: Pace): Wire {
  const rewriter = createFrameRewriter();
  let oneByteFrames = false;

  function send(bytes: Buffer, done: () => void): void {
    if (socket.destroyed) {
      done();
      return;
    }
    const waitMs = pace.spend(bytes.length);
    socket.write(bytes, () => {
      if (waitMs < SHORTEST_WAIT_MS) done();
      else setTimeout(done, waitMs);
    });
  }

  const duplex = new Duplex({
    read: () => void socket.resume(),
    write: (piece: Buffer, _encoding, done) => send(rewriter.rewrite(piece, oneByteFrames), done),
    final: (done) => void socket.end(done),
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
  });
  socket.on("data", (piece: Buffer) => {
    if (!duplex.push(piece)) socket.pause();
  });
  socket.on("end", () => duplex.push(null));
  socket.on("close", () => duplex.destroy());
  // Broken connections concern only their clients.
  for (const end of [socket, duplex]) end.on("error", () => {});

  return {
    duplex,
    setOneByteFrames(on) {
      oneByteFrames = on;
    },
    inject: (frames) =>
      new Promise((resolve) => {
        if (rewriter.isBetweenFrames()) send(frames, resolve);
        else setImmediate(resolve);
      }),
  };
}

/** Below this, timers are coarser than the wait. */
const SHORTEST_WAIT_MS = 4;
