/** Bytes of the head of an HTTP/2 frame: length, type, flags and stream. */
const HEAD_BYTES = 9;
const DATA = 0;
const END_STREAM = 1;

/** Rewrites one direction of an HTTP/2 connection, whose frames may be cut anywhere between two pieces. */
export interface FrameRewriter {
  /**
   * Returns the bytes to send for these; with `oneByteFrames` every DATA frame becomes frames of one byte.
   */
  rewrite(piece: Buffer, oneByteFrames: boolean): Buffer;
  /** Returns whether another frame could be inserted here without breaking one. */
  isBetweenFrames(): boolean;
}

/** Creates a rewriter between two frames; a server's direction consists only of frames. */
export function createFrameRewriter(): FrameRewriter {
  const head = Buffer.alloc(HEAD_BYTES);
  let headBytes = 0;
  let payloadLeft = 0;
  let splitting = false;

  /** Takes the available part of a frame's head; returns what to send of it. */
  function takeHead(piece: Buffer, oneByteFrames: boolean): { readonly used: number; readonly out: Buffer } {
    const used = piece.copy(head, headBytes, 0, HEAD_BYTES - headBytes);
    headBytes += used;
    if (headBytes < HEAD_BYTES) return { used, out: NOTHING };
    headBytes = 0;
    payloadLeft = head.readUIntBE(0, 3);
    splitting = oneByteFrames && head[3] === DATA && payloadLeft > 1;
    return { used, out: splitting ? NOTHING : Buffer.from(head) };
  }

  /** Returns a frame for each byte; the last one has the flags of the original frame. */
  function split(payload: Buffer, isLast: boolean): Buffer {
    const out = Buffer.alloc(payload.length * (HEAD_BYTES + 1));
    for (let index = 0; index < payload.length; index += 1) {
      const at = index * (HEAD_BYTES + 1);
      out[at + 2] = 1;
      if (isLast && index === payload.length - 1) out[at + 4] = (head[4] ?? 0) & END_STREAM;
      head.copy(out, at + 5, 5);
      out[at + HEAD_BYTES] = payload[index] ?? 0;
    }
    return out;
  }

  return {
    isBetweenFrames: () => headBytes === 0 && payloadLeft === 0,
    rewrite(piece, oneByteFrames) {
      const parts: Buffer[] = [];
      let rest = piece;
      while (rest.length > 0) {
        if (payloadLeft === 0) {
          const { used, out } = takeHead(rest, oneByteFrames);
          parts.push(out);
          rest = rest.subarray(used);
          continue;
        }
        const payload = rest.subarray(0, payloadLeft);
        payloadLeft -= payload.length;
        rest = rest.subarray(payload.length);
        parts.push(splitting ? split(payload, payloadLeft === 0) : payload);
      }
      return parts.length === 1 ? (parts[0] ?? NOTHING) : Buffer.concat(parts);
    },
  };
}

const NOTHING = Buffer.alloc(0);

/** Builds a raw frame. */
export function buildFrame(type: number, flags: number, streamId: number, payload: Buffer = NOTHING): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

/** Types of frames in RFC 9113. */
export const FRAME_TYPES = { data: DATA, settings: 4, ping: 6, windowUpdate: 8 } as const;
