import { MAX_REQUEST_LENGTH } from "#core/csr/csr.ts";

/** Bytes left for ASN.1 in the longest parsed request, after PEM and two rounds of Base64. */
const ROOM = Math.floor(((MAX_REQUEST_LENGTH * 3) / 4 - 80) * 0.73);

const SEQUENCE = 0x30;
const INDEFINITE = 0x80;
const SET = 0x31;

/** Returns a `spec.request` that contains these bytes. */
function requestWith(bytes: Buffer): string {
  const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${bytes.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`;
  return Buffer.from(pem).toString("base64");
}

/** Returns an ASN.1 value with a length of two bytes. */
function value(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag, 0x82, content.length >> 8, content.length & 255]), content]);
}

/** Returns nested sequences, each of a definite length. */
function nested(depth: number): Buffer {
  let inner: Buffer = Buffer.from([0x05, 0x00]);
  for (let level = 0; level < depth && inner.length + 4 < ROOM; level += 1) inner = value(SEQUENCE, inner);
  return inner;
}

const VERSION = Buffer.from([0x02, 0x01, 0x00]);
/** An elliptic curve key without its point. */
const KEY = Buffer.from("3013300906072a8648ce3d02010606082a8648ce3d0301", "hex");
const NAME_OF_NOBODY = Buffer.from([SEQUENCE, 0x00]);
const ATTRIBUTES = 0xa0;

/** Returns a request that is valid except for its subject and its attributes. */
function request(subject: Buffer, attributes: Buffer): Buffer {
  const info = value(SEQUENCE, VERSION, subject, KEY, value(ATTRIBUTES, attributes));
  const algorithm = Buffer.from("300a06082a8648ce3d040302", "hex");
  return value(SEQUENCE, info, algorithm, Buffer.from([0x03, 0x01, 0x00]));
}

function repeated(piece: Buffer, room = ROOM - 200): Buffer {
  return Buffer.concat(Array.from({ length: Math.floor(room / piece.length) }, () => piece));
}

/** `spec.request`s that make ASN.1 readers recurse, allocate or repeat, each of the maximum length. */
export const CERTIFICATE_BOMBS: Readonly<Record<string, string>> = {
  "sequences in sequences of indefinite length": requestWith(
    repeated(Buffer.from([SEQUENCE, INDEFINITE]), ROOM),
  ),
  "sequences in sequences": requestWith(nested(ROOM)),
  "an integer of four gigabytes": requestWith(Buffer.from([0x02, 0x84, 0xff, 0xff, 0xff, 0xff, 1])),
  "a length of a hundred bytes": requestWith(
    Buffer.concat([Buffer.from([SEQUENCE, 0x80 + 100]), Buffer.alloc(100, 255)]),
  ),
  "a tag of thousands of bytes": requestWith(
    Buffer.concat([Buffer.from([0x3f]), Buffer.alloc(ROOM - 2, 0xff)]),
  ),
  "an object identifier without an end": requestWith(
    value(SEQUENCE, value(0x06, Buffer.alloc(ROOM - 8, 0xff))),
  ),
  "thousands of empty names": requestWith(
    request(value(SEQUENCE, repeated(Buffer.from([SET, 0x00]))), Buffer.alloc(0)),
  ),
  "thousands of empty attributes": requestWith(
    request(NAME_OF_NOBODY, repeated(Buffer.from([SEQUENCE, 0x00]))),
  ),
  "an attribute of sequences in sequences": requestWith(request(NAME_OF_NOBODY, nested(ROOM / 4 - 60))),
  "a subject of sequences in sequences": requestWith(request(nested(ROOM / 4 - 60), Buffer.alloc(0))),
};
