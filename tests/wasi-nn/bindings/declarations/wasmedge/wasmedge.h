/* SPDX-License-Identifier: Apache-2.0 */
/* What quern's binding and its example use of WasmEdge's C API (0.14), declared by ourselves, to be
 * compiled where WasmEdge is not. Layouts are not WasmEdge's. */
#ifndef WASMEDGE_H
#define WASMEDGE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  uint32_t Code;
} WasmEdge_Result;
#define WasmEdge_Result_Success ((WasmEdge_Result){.Code = 0})
typedef struct {
  uint8_t Data[8];
} WasmEdge_ValType;
typedef struct {
  int64_t Bits;
} WasmEdge_Value;
typedef struct {
  uint32_t Length;
  const char* Buf;
} WasmEdge_String;

#define QUERN_CONTEXT(name) typedef struct WasmEdge_##name##Context WasmEdge_##name##Context;
QUERN_CONTEXT(ASTModule)
QUERN_CONTEXT(CallingFrame)
QUERN_CONTEXT(Configure)
QUERN_CONTEXT(Executor)
QUERN_CONTEXT(FunctionInstance)
QUERN_CONTEXT(FunctionType)
QUERN_CONTEXT(Loader)
QUERN_CONTEXT(MemoryInstance)
QUERN_CONTEXT(ModuleInstance)
QUERN_CONTEXT(Statistics)
QUERN_CONTEXT(Store)
QUERN_CONTEXT(Validator)

typedef WasmEdge_Result (*WasmEdge_HostFunc_t)(void* data,
                                               const WasmEdge_CallingFrameContext* frame,
                                               const WasmEdge_Value* parameters,
                                               WasmEdge_Value* results);

bool WasmEdge_ResultOK(const WasmEdge_Result result);
const char* WasmEdge_ResultGetMessage(const WasmEdge_Result result);
WasmEdge_String WasmEdge_StringWrap(const char* text, const uint32_t size);
WasmEdge_ValType WasmEdge_ValTypeGenI32(void);
WasmEdge_Value WasmEdge_ValueGenI32(const int32_t value);
int32_t WasmEdge_ValueGetI32(const WasmEdge_Value value);

WasmEdge_MemoryInstanceContext* WasmEdge_CallingFrameGetMemoryInstance(
    const WasmEdge_CallingFrameContext* frame, const uint32_t index);
const WasmEdge_ModuleInstanceContext* WasmEdge_CallingFrameGetModuleInstance(
    const WasmEdge_CallingFrameContext* frame);
WasmEdge_ExecutorContext* WasmEdge_CallingFrameGetExecutor(
    const WasmEdge_CallingFrameContext* frame);
uint32_t WasmEdge_MemoryInstanceGetPageSize(const WasmEdge_MemoryInstanceContext* memory);
uint8_t* WasmEdge_MemoryInstanceGetPointer(WasmEdge_MemoryInstanceContext* memory,
                                           const uint32_t offset, const uint32_t size);

WasmEdge_FunctionTypeContext* WasmEdge_FunctionTypeCreate(const WasmEdge_ValType* parameters,
                                                          const uint32_t count,
                                                          const WasmEdge_ValType* results,
                                                          const uint32_t result_count);
void WasmEdge_FunctionTypeDelete(WasmEdge_FunctionTypeContext* type);
WasmEdge_FunctionInstanceContext* WasmEdge_FunctionInstanceCreate(
    const WasmEdge_FunctionTypeContext* type, WasmEdge_HostFunc_t function, void* data,
    const uint64_t cost);
WasmEdge_ModuleInstanceContext* WasmEdge_ModuleInstanceCreate(const WasmEdge_String name);
WasmEdge_ModuleInstanceContext* WasmEdge_ModuleInstanceCreateWASI(
    const char* const* arguments, const uint32_t argument_count, const char* const* variables,
    const uint32_t variable_count, const char* const* folders, const uint32_t folder_count);
uint32_t WasmEdge_ModuleInstanceWASIGetExitCode(const WasmEdge_ModuleInstanceContext* wasi);
void WasmEdge_ModuleInstanceAddFunction(WasmEdge_ModuleInstanceContext* module,
                                        const WasmEdge_String name,
                                        WasmEdge_FunctionInstanceContext* function);
WasmEdge_FunctionInstanceContext* WasmEdge_ModuleInstanceFindFunction(
    const WasmEdge_ModuleInstanceContext* module, const WasmEdge_String name);
void WasmEdge_ModuleInstanceDelete(WasmEdge_ModuleInstanceContext* module);

WasmEdge_LoaderContext* WasmEdge_LoaderCreate(const WasmEdge_ConfigureContext* options);
WasmEdge_Result WasmEdge_LoaderParseFromBuffer(WasmEdge_LoaderContext* loader,
                                               WasmEdge_ASTModuleContext** module,
                                               const uint8_t* bytes, const uint32_t size);
void WasmEdge_LoaderDelete(WasmEdge_LoaderContext* loader);
void WasmEdge_ASTModuleDelete(WasmEdge_ASTModuleContext* module);
WasmEdge_ValidatorContext* WasmEdge_ValidatorCreate(const WasmEdge_ConfigureContext* options);
WasmEdge_Result WasmEdge_ValidatorValidate(WasmEdge_ValidatorContext* validator,
                                           const WasmEdge_ASTModuleContext* module);
void WasmEdge_ValidatorDelete(WasmEdge_ValidatorContext* validator);
WasmEdge_StoreContext* WasmEdge_StoreCreate(void);
void WasmEdge_StoreDelete(WasmEdge_StoreContext* store);
WasmEdge_ExecutorContext* WasmEdge_ExecutorCreate(const WasmEdge_ConfigureContext* options,
                                                  WasmEdge_StatisticsContext* statistics);
WasmEdge_Result WasmEdge_ExecutorRegisterImport(WasmEdge_ExecutorContext* executor,
                                                WasmEdge_StoreContext* store,
                                                const WasmEdge_ModuleInstanceContext* module);
WasmEdge_Result WasmEdge_ExecutorInstantiate(WasmEdge_ExecutorContext* executor,
                                             WasmEdge_ModuleInstanceContext** instance,
                                             WasmEdge_StoreContext* store,
                                             const WasmEdge_ASTModuleContext* module);
WasmEdge_Result WasmEdge_ExecutorInvoke(WasmEdge_ExecutorContext* executor,
                                        const WasmEdge_FunctionInstanceContext* function,
                                        const WasmEdge_Value* parameters, const uint32_t count,
                                        WasmEdge_Value* results, const uint32_t result_count);
void WasmEdge_ExecutorDelete(WasmEdge_ExecutorContext* executor);

#endif
