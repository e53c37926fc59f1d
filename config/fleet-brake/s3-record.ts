import { RecordError, type RecordStore } from "#config/fleet-brake/record-store.ts";
import { messageOf } from "#core/message-of.ts";

/** An object of S3 as `FLEET_BRAKE` names it. */
export interface S3Reference {
  readonly bucket: string;
  readonly key: string;
  readonly region: string | undefined;
}

/** Reads `s3://BUCKET/KEY`, with `?region=REGION` where that is not the process's own; undefined where it is none. */
export function parseS3Reference(reference: string): S3Reference | undefined {
  const match =
    // A bucket whose name has a dot has no certificate of its own.
    /^s3:\/\/([a-z0-9][a-z0-9-]{1,61}[a-z0-9])\/([\w.-]+(?:\/[\w.-]+)*)(?:\?region=([a-z]{2}(?:-[a-z]+)+-\d))?$/.exec(
      reference,
    );
  const [, bucket, key, region] = match ?? [];
  return bucket === undefined || key === undefined ? undefined : { bucket, key, region };
}

/** An object of S3 as the home of the record, swapped by its ETag. */
export function s3Record(reference: string, location: S3Reference): RecordStore {
  let opened: Promise<ReturnType<typeof import("#clouds/aws/s3-object.ts").createS3Object>> | undefined;
  const object = () => {
    opened ??= import("#clouds/aws/s3-object.ts").then(({ createS3Object }) => createS3Object(location));
    return opened;
  };
  const failed = (what: string, said: string): RecordError =>
    new RecordError(`${reference} cannot be ${what} (${said})`);
  const within = async <Value>(what: string, ask: () => Promise<Value>): Promise<Value> => {
    try {
      return await ask();
    } catch (error) {
      throw failed(what, messageOf(error));
    }
  };

  return {
    name: reference,
    async read(signal) {
      const { status, etag, text } = await within("read", async () => (await object()).get(signal));
      if (status === 404 && codeIn(text) === "NoSuchKey") return { kind: "absent" };
      if (status !== 200 || etag === undefined) throw failed("read", saidIn(status, text));
      return { kind: "stored", text, version: etag };
    },
    async swap(text, version, signal) {
      const condition = version === undefined ? ({ absent: true } as const) : { etag: version };
      const { status, text: said } = await within("written", async () =>
        (await object()).put(text, condition, signal),
      );
      if (status === 200) return true;
      // Another write, another one at the same time, or no object any more.
      if (status === 412 || status === 409 || (status === 404 && codeIn(said) === "NoSuchKey")) return false;
      throw failed("written", saidIn(status, said));
    },
  };
}

function saidIn(status: number, text: string): string {
  const code = codeIn(text);
  const words = code === undefined ? `${status}` : `${status} ${code}`;
  if (status === 403)
    return `${words}; it may be missing, which is said only to who may list the bucket: see docs/how-to/fleet-brake.md`;
  if (status === 301 || status === 307)
    return `${words}; name the bucket's region behind it, as ?region=REGION`;
  return words;
}

/** The code of an error of S3's. */
function codeIn(text: string): string | undefined {
  return /<Code>([A-Za-z]{1,64})<\/Code>/.exec(text.slice(0, 4_096))?.[1];
}
