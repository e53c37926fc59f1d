import * as z from "zod";
import type { CloudError } from "#clouds/http/classify.ts";
import { findMeaning } from "#clouds/http/error-meaning.ts";
import {
  KEYSTONE_ERROR_CODES,
  NEUTRON_ERROR_CODES,
  NOVA_ERROR_CODES,
} from "#clouds/openstack/error-codes.ts";

/** As Neutron words its errors, … */
const OfNeutron = z.object({ NeutronError: z.object({ type: z.string(), message: z.string() }) });
/** … Keystone … */
const OfKeystone = z.object({ error: z.object({ title: z.string(), message: z.string() }) });
/** … and Nova, whose name for what went wrong is the key. */
const OfNova = z.record(z.string().regex(/^[a-z][A-Za-z]+$/), z.object({ message: z.string() }));

/** OpenStack's own error in the body of an answer, where the body is one. */
export function readError(body: unknown): CloudError | undefined {
  const neutron = OfNeutron.safeParse(body).data?.NeutronError;
  if (neutron !== undefined)
    return {
      id: neutron.type,
      message: neutron.message,
      meaning: findMeaning(NEUTRON_ERROR_CODES, neutron.type),
    };
  const keystone = OfKeystone.safeParse(body).data?.error;
  if (keystone !== undefined)
    return {
      id: keystone.title,
      message: keystone.message,
      meaning: findMeaning(KEYSTONE_ERROR_CODES, keystone.title),
    };
  const [nova, ...more] = Object.entries(OfNova.safeParse(body).data ?? {});
  if (nova === undefined || more.length > 0) return undefined;
  const [id, { message }] = nova;
  return { id, message, meaning: findMeaning(NOVA_ERROR_CODES, id) };
}
