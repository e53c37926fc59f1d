import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, test } from "vitest";
import { toListenError } from "#cli/relay/serve.ts";

async function listen(port: number, address: string): Promise<unknown> {
  const server = createServer().listen(port, address);
  const error = await once(server, "listening").catch((reason: unknown) => reason);
  server.close();
  return error;
}

test("names the address and port in use, and what to do", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  const error = toListenError(await listen(port, "127.0.0.1"), "127.0.0.1", port);
  other.close();
  expect(String(error)).toBe(
    `Error: 127.0.0.1 port ${port} is in use already; end what listens there, or give another --port (0 picks a free one) (EADDRINUSE)`,
  );
});

test("explains an address of another machine", async () => {
  expect(String(toListenError(await listen(0, "192.0.2.1"), "192.0.2.1", 0))).toContain(
    "192.0.2.1 port 0 is not an address of this machine; give --bind-address one that is",
  );
});

test("returns any other error unchanged", () => {
  const error = new Error("x");
  expect(toListenError(error, "127.0.0.1", 1)).toBe(error);
});
