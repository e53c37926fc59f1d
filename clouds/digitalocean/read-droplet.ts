import { type Droplet, DropletAnswer } from "#clouds/digitalocean/droplet.ts";
import type { Api, Turn } from "#clouds/http/api.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { fault, ok } from "#clouds/outcome.ts";

/**
 * One droplet by its id, or undefined where DigitalOcean itself says that there is none: the only way to know that. A 404
 * with any other body, as a proxy or a wrong `apiURL` would answer, is a fault.
 */
export async function readDroplet(api: Api, id: string, turn: Turn): Promise<Outcome<Droplet | undefined>> {
  const template = "GET /v2/droplets/{id}";
  const answer = await api.get({ operation: "droplets_get", template, path: `/v2/droplets/${id}` }, turn);
  if (answer.kind === "fault") {
    const { status, errorId } = answer.fault;
    return status === 404 && errorId === "not_found" ? ok(undefined) : answer;
  }
  const parsed = DropletAnswer.safeParse(answer.value);
  if (!parsed.success) return fault("Unavailable", `${template}: the answer is not a droplet`);
  if (parsed.data.droplet.id === id) return ok(parsed.data.droplet);
  return fault(
    "Unavailable",
    `${template}: asked for ${id}, the answer is droplet ${parsed.data.droplet.id}`,
  );
}
