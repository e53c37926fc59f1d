import { readFile } from "node:fs/promises";
import { Agent, request } from "node:https";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";

/** Posts as whoever is named, in an administrator's power: thousands of identities over a few connections. */
export interface Impersonator {
  post(
    path: string,
    body: unknown,
    user: string,
    group: string,
  ): Promise<{ readonly status: number; readonly body: string }>;
  close(): void;
}

export async function createImpersonator(plane: ControlPlane): Promise<Impersonator> {
  const [ca, token] = await Promise.all([
    readFile(plane.certificateAuthorityFile, "utf8"),
    readFile(plane.tokenFile("admin"), "utf8"),
  ]);
  const agent = new Agent({ ca, keepAlive: true, maxSockets: 16 });
  return {
    post: (path, body, user, group) =>
      new Promise((resolve, reject) => {
        const headers = {
          authorization: `Bearer ${token.trim()}`,
          "content-type": "application/json",
          "impersonate-user": user,
          "impersonate-group": group,
        };
        const sent = request(`${plane.server}${path}`, { agent, method: "POST", headers }, async (answer) => {
          let text = "";
          for await (const chunk of answer.setEncoding("utf8")) text += chunk;
          resolve({ status: answer.statusCode ?? 0, body: text });
        });
        sent.on("error", reject);
        sent.end(JSON.stringify(body));
      }),
    close: () => agent.destroy(),
  };
}
