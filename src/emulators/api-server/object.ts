/** A JSON object of unknown shape. */
export type JsonObject = { [field: string]: unknown };

/** The metadata that the server itself reads and writes. */
export interface ObjectMetadata extends JsonObject {
  name: string;
  generateName?: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  creationTimestamp: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: { [key: string]: string };
  annotations?: { [key: string]: string };
  finalizers?: string[];
  managedFields?: ManagedFieldsEntry[];
}

/** The last writer of fields. */
export interface ManagedFieldsEntry {
  manager: string;
  operation: "Update";
  apiVersion: string;
  time: string;
  fieldsType: "FieldsV1";
  fieldsV1: JsonObject;
  subresource?: string;
}

/** A stored object, without kind and apiVersion, which its resource knows. */
export interface StoredObject extends JsonObject {
  metadata: ObjectMetadata;
  spec?: JsonObject;
  status?: JsonObject;
}

/** Returns whether the value is a JSON object, neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
