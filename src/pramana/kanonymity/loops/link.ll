; made of ad9fe91ffc9da27a9c7336e133810726a8680435b61a2960f3406acbfe5d3d68
; by LLVM 22
; takes <i8:1 <i8:1 <i8:1 <i8:1 <i8:1
; gives i
define noundef i32 @pramana.link(ptr noalias writeonly captures(none) %retptr, ptr noalias readnone captures(none) %excinfo, ptr readnone captures(none) %arg.labels.0, ptr readnone captures(none) %arg.labels.1, i64 %arg.labels.2, i64 %arg.labels.3, ptr readonly captures(none) %arg.labels.4, i64 %arg.labels.5.0, i64 %arg.labels.6.0, ptr readnone captures(none) %arg.head.0, ptr readnone captures(none) %arg.head.1, i64 %arg.head.2, i64 %arg.head.3, ptr captures(none) %arg.head.4, i64 %arg.head.5.0, i64 %arg.head.6.0, ptr readnone captures(none) %arg.after.0, ptr readnone captures(none) %arg.after.1, i64 %arg.after.2, i64 %arg.after.3, ptr writeonly captures(none) %arg.after.4, i64 %arg.after.5.0, i64 %arg.after.6.0, ptr readnone captures(none) %arg.before.0, ptr readnone captures(none) %arg.before.1, i64 %arg.before.2, i64 %arg.before.3, ptr writeonly captures(none) %arg.before.4, i64 %arg.before.5.0, i64 %arg.before.6.0, ptr readnone captures(none) %arg.sizes.0, ptr readnone captures(none) %arg.sizes.1, i64 %arg.sizes.2, i64 %arg.sizes.3, ptr captures(none) %arg.sizes.4, i64 %arg.sizes.5.0, i64 %arg.sizes.6.0) local_unnamed_addr #0 {
B0.endif:
  %.148219.not = icmp slt i64 %arg.labels.2, 1
  br i1 %.148219.not, label %B186, label %B56.preheader
B56.preheader:
  %0 = add i64 %arg.labels.2, -1
  br label %B56
B56:
  %lsr.iv = phi i64 [ %0, %B56.preheader ], [ %lsr.iv.next, %B142 ]
  %1 = shl i64 %lsr.iv, 3
  %scevgep1 = getelementptr i8, ptr %arg.labels.4, i64 %1
  %.219 = load i64, ptr %scevgep1, align 8
  %.237 = icmp slt i64 %.219, 0
  %.238 = select i1 %.237, i64 %arg.head.5.0, i64 0
  %2 = getelementptr i64, ptr %arg.head.4, i64 %.219
  %.252 = getelementptr i64, ptr %2, i64 %.238
  %.253 = load i64, ptr %.252, align 8
  %3 = shl i64 %lsr.iv, 3
  %scevgep = getelementptr i8, ptr %arg.after.4, i64 %3
  store i64 %.253, ptr %scevgep, align 8
  %.316 = icmp sgt i64 %.253, -1
  br i1 %.316, label %B120, label %B142
B120:
  %.378 = getelementptr i64, ptr %arg.before.4, i64 %.253
  store i64 %lsr.iv, ptr %.378, align 8
  br label %B142
B142:
  %4 = icmp slt i64 %.219, 0
  %sunkaddr = mul i64 %.238, 8
  %sunkaddr2 = getelementptr inbounds i8, ptr %2, i64 %sunkaddr
  store i64 %lsr.iv, ptr %sunkaddr2, align 8
  %.430 = select i1 %4, i64 %arg.sizes.5.0, i64 0
  %5 = getelementptr i64, ptr %arg.sizes.4, i64 %.219
  %.444 = getelementptr i64, ptr %5, i64 %.430
  %.445 = load i64, ptr %.444, align 8
  %.446 = add nsw i64 %.445, 1
  store i64 %.446, ptr %.444, align 8
  %lsr.iv.next = add i64 %lsr.iv, -1
  %6 = add i64 %lsr.iv.next, 2
  %.148 = icmp samesign ugt i64 %6, 1
  br i1 %.148, label %B56, label %B186
B186:
  store ptr null, ptr %retptr, align 8
  ret i32 0
}
attributes #0 = { nofree norecurse nosync nounwind memory(argmem: readwrite) }
