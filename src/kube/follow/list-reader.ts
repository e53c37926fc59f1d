import { createGatheredBytes } from "#kube/client/byte-buffer.ts";

/** Reads the JSON of one list, which arrives in chunks. Throws `SyntaxError` if the text is not a list. */
export interface ListReader {
  /** Calls back with each object that is complete. */
  add(chunk: Uint8Array): void;
  /** Returns the list's metadata after the last chunk. */
  end(): Readonly<Record<string, unknown>>;
}

/** The end of a text before the list of objects. After a backslash the quotation mark begins no key. */
const ITEMS_KEY = /[{,]\s*"items"\s*:\s*$/;

/** Bytes in which the key is looked for. A list with more white space there is parsed as a whole. */
const LONGEST_KEY = 64;

const BLANK = /^[ \t\r\n]*$/;

/** Replaces the objects in the rest of the list. */
const PLACEHOLDER = 0;

/**
 * Creates a reader that parses a list's objects one at a time: a page that is parsed as a whole takes several times
 * its size, and the heap stays as large. The reader only finds where objects end; `JSON.parse` decides what is valid.
 */
export function createListReader(onObject: (object: unknown) => void): ListReader {
  const frame = createGatheredBytes();
  /** The last characters of the frame. */
  let tail = "";
  /** The beginning of an object that continues in the next chunk. */
  const rest = createGatheredBytes();
  let position: "before" | "within" | "after" = "before";
  let objects = 0;
  let depth = 0;
  let isInString = false;
  let isEscaped = false;

  function readObject(text: string): void {
    const object: unknown = JSON.parse(text);
    objects += 1;
    onObject(object);
  }

  function takeText(end: Buffer): string {
    if (rest.length === 0) return end.toString("utf8");
    rest.add(end);
    return rest.take().toString("utf8");
  }

  function keepFrame(piece: Buffer): void {
    if (piece.length === 0) return;
    frame.add(piece);
    tail = (tail + piece.toString("latin1", Math.max(0, piece.length - LONGEST_KEY))).slice(-LONGEST_KEY);
  }

  /** Handles a character outside of strings that may begin or end an object; returns where the rest begins. */
  function handleSign(byte: number, bytes: Buffer, start: number, index: number): number {
    if (byte === OPEN_ARRAY && depth === 2 && position === "before") {
      keepFrame(bytes.subarray(start, index));
      if (!ITEMS_KEY.test(tail)) return index;
      position = "within";
      return index + 1;
    }
    if (position !== "within") return start;
    if (byte === COMMA && depth === 2) {
      readObject(takeText(bytes.subarray(start, index)));
      return index + 1;
    }
    if (byte === CLOSE_ARRAY && depth === 1) {
      const text = takeText(bytes.subarray(start, index));
      if (objects > 0 || !BLANK.test(text)) readObject(text);
      position = "after";
      keepFrame(Buffer.from(`[${PLACEHOLDER}]`));
      return index + 1;
    }
    if (byte === CLOSE_OBJECT && depth === 1) throw new SyntaxError("the list of objects does not end");
    return start;
  }

  return {
    add(chunk) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      const { length } = bytes;
      let start = 0;
      for (let index = 0; index < length; index += 1) {
        if (isInString) {
          index = isEscaped ? index + 1 : index;
          isEscaped = false;
          while (index < length && bytes[index] !== QUOTE) index += bytes[index] === BACKSLASH ? 2 : 1;
          isInString = index >= length;
          isEscaped = index > length;
          continue;
        }
        const byte = bytes[index] as number;
        if (byte === QUOTE) isInString = true;
        else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth += 1;
        else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth -= 1;
        else if (byte !== COMMA) continue;
        if (depth <= 2) start = handleSign(byte, bytes, start, index);
      }
      const left = bytes.subarray(start);
      if (position !== "within") keepFrame(left);
      else if (left.length > 0) rest.add(left);
    },
    end() {
      const list: unknown = JSON.parse(frame.take().toString("utf8"));
      if (!isRecord(list) || !isRecord(list["metadata"])) throw new SyntaxError("not a list");
      const { items, metadata } = list;
      if (position !== "before") {
        // Of two lists of objects, JSON.parse returns the second.
        const isOnly = Array.isArray(items) && items.length === 1 && items[0] === PLACEHOLDER;
        if (!isOnly) throw new SyntaxError("more than one list of objects");
        return metadata;
      }
      // Go serializes an empty list as null.
      const whole = items ?? [];
      if (!Array.isArray(whole)) throw new SyntaxError("no list of objects");
      for (const object of whole) onObject(object);
      return metadata;
    },
  };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
