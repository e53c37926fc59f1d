import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Finds a free port of 127.0.0.1 below the range of outgoing connections. A stopped server finds its port
 * free again when it starts, with any number of waiting clients.
 */
export async function findFreePort(random: () => number = Math.random): Promise<number> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const port = FIRST + Math.floor(random() * (LAST - FIRST));
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port on 127.0.0.1 between ${FIRST} and ${LAST}: ${MAX_ATTEMPTS} tried`);
}

const FIRST = 20_000;
const LAST = 32_000;
const MAX_ATTEMPTS = 100;

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    server.close();
    await once(server, "close");
    return true;
  } catch {
    return false;
  }
}
