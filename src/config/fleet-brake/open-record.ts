import { RecordError, type RecordStore } from "#config/fleet-brake/fleet-brake.ts";
import { getErrorMessage, sanitizeText } from "#core/sanitize-text.ts";

/** Opens record stores that only some processes may have; undefined for other references. */
export type OpenRecordExtension = (reference: string) => RecordStore | undefined;

/**
 * Opens the record that `--fleet-brake` or FLEET_BRAKE names: `s3://BUCKET/KEY`, `memory`, or a store that
 * `further` opens. Undefined if the reference is empty.
 */
export function openRecord(
  reference: string,
  further: OpenRecordExtension = () => undefined,
): RecordStore | undefined {
  if (reference === "memory") return createMemoryRecord();
  const location = parseS3Reference(reference);
  return location === undefined ? further(reference) : createS3Record(reference, location);
}

/** Returns an unreadable record for an invalid reference, so that unproven deletions are not granted. */
export function createUnreadableRecord(reference: string): RecordStore {
  const reject = (): Promise<never> =>
    Promise.reject(
      new RecordError(`FLEET_BRAKE says "${sanitizeText(reference)}", and takes s3://BUCKET/KEY here`),
    );
  return { name: reference, read: reject, swap: reject };
}

/** Creates a record in this process that ends with it. It suits a fleet with a single process. */
export function createMemoryRecord(): RecordStore {
  let text = "";
  let version = 1;
  return {
    name: "memory",
    read: async () => ({ kind: "stored", text, version: `${version}` }),
    async swap(next, read) {
      if (read !== `${version}`) return false;
      text = next;
      version += 1;
      return true;
    },
  };
}

/** An object of S3 as `FLEET_BRAKE` names it. */
interface S3Reference {
  readonly bucket: string;
  readonly key: string;
  readonly region: string | undefined;
}

/**
 * Parses `s3://BUCKET/KEY`, with `?region=REGION` if it differs from the process's region. Undefined for
 * other references.
 */
export function parseS3Reference(reference: string): S3Reference | undefined {
  const match =
    // S3's certificate does not cover bucket names with a dot.
    /^s3:\/\/([a-z0-9][a-z0-9-]{1,61}[a-z0-9])\/([\w.-]+(?:\/[\w.-]+)*)(?:\?region=([a-z]{2}(?:-[a-z]+)+-\d))?$/.exec(
      reference,
    );
  const [, bucket, key, region] = match ?? [];
  return bucket === undefined || key === undefined ? undefined : { bucket, key, region };
}

/** Creates a record store in an S3 object, swapped by its ETag. */
export function createS3Record(reference: string, location: S3Reference): RecordStore {
  let opened: Promise<ReturnType<typeof import("#platforms/aws/s3-object.ts").createS3Object>> | undefined;
  const object = () => {
    opened ??= import("#platforms/aws/s3-object.ts").then(({ createS3Object }) => createS3Object(location));
    return opened;
  };
  const failed = (what: string, said: string): RecordError =>
    new RecordError(`${reference} cannot be ${what} (${said})`);
  const within = async <Value>(what: string, ask: () => Promise<Value>): Promise<Value> => {
    try {
      return await ask();
    } catch (error) {
      throw failed(what, getErrorMessage(error));
    }
  };

  return {
    name: reference,
    async read(signal) {
      const { status, etag, text } = await within("read", async () => (await object()).get(signal));
      if (status === 404 && parseErrorCode(text) === "NoSuchKey") return { kind: "absent" };
      if (status !== 200 || etag === undefined) throw failed("read", describeS3Error(status, text));
      return { kind: "stored", text, version: etag };
    },
    async swap(text, version, signal) {
      const condition = version === undefined ? ({ absent: true } as const) : { etag: version };
      const { status, text: said } = await within("written", async () =>
        (await object()).put(text, condition, signal),
      );
      if (status === 200) return true;
      // Another write came first or at the same time, or the object no longer exists.
      if (status === 412 || status === 409 || (status === 404 && parseErrorCode(said) === "NoSuchKey"))
        return false;
      throw failed("written", describeS3Error(status, said));
    },
  };
}

function describeS3Error(status: number, text: string): string {
  const code = parseErrorCode(text);
  const words = code === undefined ? `${status}` : `${status} ${code}`;
  if (status === 403)
    return `${words}; it may be missing, which is said only to who may list the bucket: see docs/how-to/fleet-brake.md`;
  if (status === 301 || status === 307)
    return `${words}; name the bucket's region behind it, as ?region=REGION`;
  return words;
}

/** Returns the code in an S3 error document. */
function parseErrorCode(text: string): string | undefined {
  return /<Code>([A-Za-z]{1,64})<\/Code>/.exec(text.slice(0, 4_096))?.[1];
}
