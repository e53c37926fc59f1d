import { parseJson } from "#core/parse-json.ts";
import type { ControlPlaneUsers } from "#emulators/harness/control-plane.ts";
import { type Answered, getTransport, NODES } from "#test/emulators/control-plane/client.ts";
import type { ClusterUnderTest } from "#test/kube/apply/cluster-under-test.ts";

/** A line of a watch. */
export interface WatchLine {
  readonly type: string;
  readonly object: Answered;
}

/** An open watch of nodes. */
export interface WatchStream {
  readonly status: number;
  /** Returns the next line; undefined after the server has ended the watch. */
  next(): Promise<WatchLine | undefined>;
  /** Returns all lines up to the end, which the server must cause. */
  rest(): Promise<WatchLine[]>;
  close(): void;
}

/** Opens a watch of nodes with a query. */
export async function watchNodes(
  cluster: ClusterUnderTest,
  query: string,
  options: { readonly user?: keyof ControlPlaneUsers; readonly accept?: string } = {},
): Promise<WatchStream> {
  const transport = await getTransport(cluster, options.user);
  const { accept } = options;
  const stream = await transport.stream({
    method: "GET",
    path: `${NODES}?watch=true&${query}`,
    ...(accept === undefined ? {} : { accept }),
  });
  const lines = linesOf(stream.body);
  const next = async (): Promise<WatchLine | undefined> => {
    const { value, done } = await lines.next();
    return done === true ? undefined : (parseJson(value) as WatchLine);
  };
  return {
    status: stream.status,
    next,
    rest: async () => {
      const seen: WatchLine[] = [];
      for (let line = await next(); line !== undefined; line = await next()) seen.push(line);
      return seen;
    },
    close: () => stream.close(),
  };
}

async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    yield* lines.filter((line) => line !== "");
  }
  if (text !== "") yield text;
  return undefined;
}
