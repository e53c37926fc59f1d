import { type Droplet, DropletAnswer } from "#clouds/digitalocean/droplet.ts";
import type { Api } from "#clouds/http/api.ts";
import type { CallContext } from "#clouds/http/call-context.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { fault, ok } from "#clouds/outcome.ts";

/**
 * Reads one droplet by id; undefined only if DigitalOcean itself says that it does not exist. A 404 with any
 * other body, as from a proxy or a wrong `apiURL`, is a fault.
 */
export async function readDroplet(
  api: Api,
  id: string,
  callContext: CallContext,
): Promise<Outcome<Droplet | undefined>> {
  const template = "GET /v2/droplets/{id}";
  const answer = await api.get(
    { operation: "droplets_get", template, path: `/v2/droplets/${id}` },
    callContext,
  );
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
